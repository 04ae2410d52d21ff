import { type AnalyticsError, fault } from './errors.ts'
import { isObject } from './fields.ts'
import { retryAfter } from './retry-after.ts'

/** What came back for a request; `body` as far as it could be read. Or why nothing did. */
export type Posted = { status: number; retryAfter: string | undefined; body: string } | { error: Error }

/** A call that the service does not take, by its place in the batch. */
export type Rejection = { index: number; code: string; message: string }

/** What that means. `retry`: nothing is known to be taken, and it may be later. `refused`: the same would come back again. */
export type Verdict =
  | { verdict: 'taken'; rejected: readonly Rejection[] }
  | { verdict: 'retry'; error: Error; retryAfterMs: number | undefined }
  | { verdict: 'refused'; error: AnalyticsError }

/** Success is exactly 200. Tried again is a closed list: no answer, 429 and 5xx. @param now ms since 1970. */
export function judge(posted: Posted, now: number): Verdict {
  if ('error' in posted) return { verdict: 'retry', error: posted.error, retryAfterMs: undefined }
  const { status } = posted
  const body = parse(posted.body)
  if (status === 200) return { verdict: 'taken', rejected: rejectedOf(body) }
  const error = refusal(status, body)
  if (status !== 429 && status < 500) return { verdict: 'refused', error }
  return { verdict: 'retry', error, retryAfterMs: retryAfter(posted.retryAfter, now) }
}

/** What is no JSON is nothing; the status says enough. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const MESSAGE_CHARS = 300
const messageOf = ({ message }: { message?: unknown }) =>
  typeof message === 'string' ? message.slice(0, MESSAGE_CHARS) : ''

function refusal(status: number, body: unknown): AnalyticsError {
  if (!isObject(body) || typeof body.code !== 'string')
    return fault('rejected', `The service answered ${status}.`, { status })
  const { code: reason } = body
  return fault('rejected', `The service answered ${status} ${reason}: ${messageOf(body)}`, { status, reason })
}

function rejectedOf(body: unknown): Rejection[] {
  if (!isObject(body) || !Array.isArray(body.rejected)) return []
  return body.rejected.flatMap((each: unknown) =>
    isObject(each) && typeof each.index === 'number' && typeof each.code === 'string'
      ? [{ index: each.index, code: each.code, message: messageOf(each) }]
      : [],
  )
}
