import { type AnalyticsError, fault } from './errors.ts'
import { isObject } from './fields.ts'

/** `brokenBy`: why `body` is incomplete. */
export type Posted =
  | { status: number; retryAfter: string | undefined; body: string; brokenBy?: Error | undefined }
  | { error: Error }

export type Rejection = { index: number; code: string; message: string }

/** `unlisted`: how many more calls were rejected. They come after the listed ones. */
export type Rejections = { rejected: readonly Rejection[]; unlisted?: number | undefined }

/**
 * `retry`: anything may have been accepted. `refused`: a retry would fail too; with `passesWithinMs`, only if the
 * refusal lasts that long.
 */
export type Verdict =
  | ({ verdict: 'taken' } & Rejections)
  | { verdict: 'retry'; error: Error; retryAfterMs: number | undefined }
  | { verdict: 'refused'; error: AnalyticsError; passesWithinMs?: number }

/**
 * Temporary refusals, with their longest duration in ms: each process of the service reads a new source later, and a
 * disabled source may be enabled again.
 */
const PASSES_WITHIN_MS: ReadonlyMap<string | undefined, number> = new Map([
  ['unknown_source', 10_000],
  ['source_disabled', 60_000],
])

/** `now`: ms since 1970. `url`: without secrets. */
export type RequestFacts = { now: number; url: string }

/**
 * Only 200 with `"success": true` is a success: any other 200 comes from another server or broke off, and is retried.
 */
export function judge(posted: Posted, { now, url }: RequestFacts): Verdict {
  if ('error' in posted) return { verdict: 'retry', error: posted.error, retryAfterMs: undefined }
  const { status } = posted
  const body = parse(posted.body)
  if (status === 200 && isObject(body) && body.success === true)
    return { verdict: 'taken', rejected: rejectedOf(body.rejected), unlisted: countIn(body.rejectedUnlisted) }
  // other statuses do not need their body
  if (status === 200 && posted.brokenBy)
    return { verdict: 'retry', error: posted.brokenBy, retryAfterMs: undefined }
  const error = refusal(status, body, url)
  if (!isRetried(status)) {
    const passesWithinMs = PASSES_WITHIN_MS.get(error.reason)
    return { verdict: 'refused', error, ...(passesWithinMs !== undefined && { passesWithinMs }) }
  }
  return { verdict: 'retry', error, retryAfterMs: retryAfter(posted.retryAfter, now) }
}

/** 408: the request did not arrive in time. */
const isRetried = (status: number) => [200, 408, 429].includes(status) || (status >= 500 && status <= 599)

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const MAX_CHARS = 300

const cut = (text: string) => (text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}...` : text)

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? cut(value) : undefined)

/** Names the URL, which may be the mistake. */
function refusal(status: number, body: unknown, url: string): AnalyticsError {
  if (status === 200)
    return fault('rejected', `${url} answered 200 without {"success": true}: is it /v1/batch of Sluice?`, {
      status,
    })
  const { code, message } = isObject(body) ? body : {}
  const reason = textIn(code)
  if (reason === undefined) return fault('rejected', `${url} answered ${status}.`, { status })
  const detail = textIn(message)
  const text = `${url} answered ${status} ${reason}${detail === undefined ? '.' : `: ${detail}`}`
  return fault('rejected', text, { status, reason })
}

/** Keeps the first rejection of each index, with or without a code. */
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

const countIn = (value: unknown) => (Number.isSafeInteger(value) ? Number(value) : undefined)

const TIME = String.raw`\d\d:\d\d:\d\d`
/** RFC 9110, 5.6.7: the current date format and RFC 850's. asctime's, below, is in GMT. */
const HTTP_DATES = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d ${TIME} GMT$`),
]
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ${TIME} \d{4}$`)

/**
 * @param value Retry-After (RFC 9110, 10.2.3): whole seconds or an HTTP date. @param now ms since 1970
 * @returns ms from `now`, at least 0; undefined if missing or unreadable
 */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const date = ASCTIME.test(text) ? `${text} GMT` : text
  if (date === text && !HTTP_DATES.some((form) => form.test(text))) return undefined
  const at = Date.parse(date)
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0)
}
