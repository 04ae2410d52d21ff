import { type AnalyticsError, fault } from './errors.ts'
import { isObject } from './fields.ts'
import { retryAfter } from './retry-after.ts'

/** What came back for a request; `body` as far as it could be read, `brokenBy` why no further. Or why nothing did. */
export type Posted =
  | { status: number; retryAfter: string | undefined; body: string; brokenBy?: Error | undefined }
  | { error: Error }

/** A call that the service does not take, by its place in the batch. */
export type Rejection = { index: number; code: string; message: string }

/**
 * What that means. `retry`: nothing is known to be taken, and it may be later. `refused`: the same would come back again; with
 * `passesWithinMs` only if it still does so long after it came first.
 */
export type Verdict =
  | { verdict: 'taken'; rejected: readonly Rejection[] }
  | { verdict: 'retry'; error: Error; retryAfterMs: number | undefined }
  | { verdict: 'refused'; error: AnalyticsError; passesWithinMs?: number }

/**
 * Refusals of the service that may pass by themselves, with ms: a new source is unknown until each process of the service has read of
 * it, mostly for less than a second, and one that is switched off may be switched on again.
 */
const PASSES_WITHIN_MS: ReadonlyMap<string | undefined, number> = new Map([
  ['unknown_source', 10_000],
  ['source_disabled', 60_000],
])

/** `now` in ms since 1970; `url` what was requested, as it may be shown. */
export type Asked = { now: number; url: string }

/**
 * Success is exactly 200 and `"success": true` in JSON: a 200 without it is somebody else's, or broke off. Tried again is a closed
 * list: no answer, such a 200, 429 and 5xx.
 */
export function judge(posted: Posted, { now, url }: Asked): Verdict {
  if ('error' in posted) return { verdict: 'retry', error: posted.error, retryAfterMs: undefined }
  const { status } = posted
  const body = parse(posted.body)
  if (status === 200 && isObject(body) && body.success === true)
    return { verdict: 'taken', rejected: rejectedOf(body.rejected) }
  // any other status says enough without its body
  if (status === 200 && posted.brokenBy)
    return { verdict: 'retry', error: posted.brokenBy, retryAfterMs: undefined }
  const error = refusal(status, body, url)
  if (!isTriedAgain(status)) {
    const passesWithinMs = PASSES_WITHIN_MS.get(error.reason)
    return { verdict: 'refused', error, ...(passesWithinMs !== undefined && { passesWithinMs }) }
  }
  return { verdict: 'retry', error, retryAfterMs: retryAfter(posted.retryAfter, now) }
}

const isTriedAgain = (status: number) => status === 200 || status === 429 || (status >= 500 && status <= 599)

/** What is no JSON is nothing. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const MOST_CHARS = 300

/** Bounds what somebody else says before it comes into errors and warnings. */
const cut = (text: string) => (text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}...` : text)

/** A text of the answer; nothing where it is empty, or something else. */
const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? cut(value) : undefined)

/** The URL is named: with another than that of batches the service's own words would mislead. */
function refusal(status: number, body: unknown, url: string): AnalyticsError {
  if (status === 200)
    return fault('rejected', `${url} answered 200 without {"success": true}: is it /v1/batch of Sluice?`, {
      status,
    })
  const { code, message } = isObject(body) ? body : {}
  const reason = textIn(code)
  if (reason === undefined) return fault('rejected', `${url} answered ${status}.`, { status })
  const said = textIn(message)
  const text = `${url} answered ${status} ${reason}${said === undefined ? '.' : `: ${said}`}`
  return fault('rejected', text, { status, reason })
}

/** Those whose place can be read, each once. One without a code is a rejection all the same. */
function rejectedOf(list: unknown): Rejection[] {
  const rejected = new Map<number, Rejection>()
  for (const each of Array.isArray(list) ? list : []) {
    if (!isObject(each) || typeof each.index !== 'number') continue
    const { index, code, message } = each
    if (!rejected.has(index))
      rejected.set(index, { index, code: textIn(code) ?? 'rejected', message: textIn(message) ?? '' })
  }
  return [...rejected.values()]
}
