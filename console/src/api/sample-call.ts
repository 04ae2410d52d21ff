import { ingestAddress } from './ingest-address.ts'
import { Refused } from './problem.ts'

/**
 * Sends a call to ingest from this page, as a website would.
 * @throws Refused with what ingest says, or when it cannot be reached from here.
 */
export async function sendSampleCall(writeKey: string): Promise<void> {
  const messageId = `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`
  const call = {
    writeKey,
    messageId,
    userId: 'test-user',
    event: 'Test Event',
    properties: { from: 'console' },
  }
  const response = await fetch(`${ingestAddress}/v1/track`, {
    method: 'POST',
    body: JSON.stringify(call),
  }).catch(() => {
    const message = `This browser cannot reach ingest at ${ingestAddress}: send the call from a terminal with a command of those here.`
    throw new Refused({ code: 'unreachable', message, errors: [] }, 0)
  })
  if (response.ok) return
  const said: { code?: string; message?: string } = await response.json().catch(() => ({}))
  const message = `Ingest answered ${response.status}${said.message ? `: ${said.message}` : ''}`
  throw new Refused({ code: said.code ?? 'unknown', message, errors: [] }, response.status)
}
