import { type Code, refusal, statusOf } from './codes.ts'

/** What goes back over HTTP; bodies are JSON, always. */
export type Answer = {
  code: Code | 'ok'
  status: number
  body: string
  headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Without this header browsers hide the answer from the client library, which sends again. */
export const CORS = { 'access-control-allow-origin': '*' } as const

export const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
  'access-control-max-age': '86400',
} as const

/** Status 200 and this body are what client libraries take for success, and nothing else. */
export const SUCCESS: Answer = { code: 'ok', status: 200, body: '{"success":true}' }

/** A rejected item of a batch, by its place in it. */
export type RejectedItem = { index: number; code: Code; message: string }

/** @param unlisted how many more are rejected. */
export function batchAnswer(rejected: readonly RejectedItem[], unlisted: number): Answer {
  if (rejected.length === 0) return SUCCESS
  const body = { success: true, rejected, ...(unlisted > 0 && { rejectedUnlisted: unlisted }) }
  return { ...SUCCESS, body: JSON.stringify(body) }
}

/** What is only to be sent again says when. */
export function errorAnswer(code: Code, headers: Answer['headers'] = again(code)): Answer {
  const answer = { code, status: statusOf(code), body: JSON.stringify(refusal(code)) }
  return headers ? { ...answer, headers } : answer
}

/** Kafka's short absences are over by then; what somebody has to mend takes longer. */
const AGAIN_S: Partial<Record<Code, number>> = { unavailable: 2, source_unreadable: 30, storage_full: 30 }

function again(code: Code): Answer['headers'] {
  const seconds = AGAIN_S[code]
  return seconds === undefined ? undefined : retryAfter(seconds)
}

/** When to send again, in whole seconds. Browsers show a page only the headers that are exposed to it. */
export function retryAfter(seconds: number): NonNullable<Answer['headers']> {
  return { 'retry-after': String(seconds), 'access-control-expose-headers': 'Retry-After' }
}
