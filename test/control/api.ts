import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { type AppParts, createApp } from '../../control/app.ts'
import { inMemory, keys } from './in-memory.ts'

export const ADMIN = 'admin-token-123456'
export const VIEW = 'view-token-123456'

export type Asked = {
  method?: string
  url: string
  body?: unknown
  token?: string
  headers?: Record<string, string>
}

/** The API without Kafka and without a socket, until the test is over. */
export function api(records: Parameters<typeof inMemory>[0] = {}, parts: Partial<AppParts> = {}) {
  const memory = inMemory(records)
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const tokens = { admin: ADMIN, view: VIEW }
  const probe = { notReady: () => undefined }
  const egress = { faultOf: async () => undefined }
  const app = createApp({ ...memory, egress, keys, tokens, probe, log, ...parts })
  onTestFinished(() => app.close())

  async function ask({ method = 'GET', url, body, token = ADMIN, headers = {} }: Asked) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await app.inject({
      // what is no method at all is tried as well
      method: method as 'GET',
      url,
      headers: { ...(token && { authorization: `Bearer ${token}` }), ...type, ...headers },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const json = response.headers['content-type']?.toString().includes('json') ? response.json() : undefined
    return { status: response.statusCode, headers: response.headers, text: response.body, json }
  }

  return { ask, lines, ...memory }
}
