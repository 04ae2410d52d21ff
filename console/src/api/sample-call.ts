import { ingestAddress } from './ingest-address.ts'
import { unreachable } from './problem.ts'

/**
 * Sends a call to ingest from this page, as a website would. What is answered cannot be read across origins without more;
 * that it came shows in the live calls.
 * @throws Refused when ingest cannot be reached from here.
 */
export async function sendSampleCall(writeKey: string): Promise<string> {
  const messageId = `console-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`
  const call = {
    writeKey,
    messageId,
    userId: 'test-user',
    event: 'Test Event',
    properties: { from: 'console' },
  }
  try {
    await fetch(`${ingestAddress}/v1/track`, { method: 'POST', mode: 'no-cors', body: JSON.stringify(call) })
  } catch {
    throw Object.assign(unreachable(), {
      message: `This browser cannot reach ingest at ${ingestAddress}: send the call from a terminal with the command above.`,
    })
  }
  return messageId
}
