/** No ladder waits longer than a day; it also keeps a number of a hundred digits from becoming infinite. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1_000

const TIME = String.raw`\d\d:\d\d:\d\d`
/** The three forms that RFC 9110, 5.6.7 has recipients read, the last without a zone: it is GMT too. */
const HTTP_DATE = new RegExp(
  String.raw`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} ${TIME} GMT$|^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d ${TIME} GMT$`,
)
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ${TIME} \d{4}$`)

/**
 * @param value the header Retry-After, RFC 9110, 10.2.3: seconds, or an HTTP-date. @param now ms since 1970.
 * @returns ms from `now`, 0 to a day; the longest of several; undefined when there is none that can be read.
 */
export function retryAfter(value: string | readonly string[] | undefined, now: number): number | undefined {
  const delays = [value ?? []].flat().flatMap((each) => delayOf(each.trim(), now) ?? [])
  return delays.length > 0 ? Math.max(...delays) : undefined
}

function delayOf(text: string, now: number): number | undefined {
  if (/^\d+$/.test(text)) return bounded(Number(text) * 1_000)
  const date = ASCTIME.test(text) ? `${text} GMT` : HTTP_DATE.test(text) ? text : undefined
  const at = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(at) ? undefined : bounded(at - now)
}

const bounded = (delayMs: number) => Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS)
