const TIME = String.raw`\d\d:\d\d:\d\d`
/** What recipients must read (RFC 9110, 5.6.7): the form of today, RFC 850's, and asctime's, which has no zone and is GMT. */
const HTTP_DATES = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d ${TIME} GMT$`),
]
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ${TIME} \d{4}$`)

/**
 * @param value the header Retry-After (RFC 9110, 10.2.3): whole seconds, or an HTTP date. @param now ms since 1970.
 * @returns ms from `now`, not below 0; undefined when there is none that can be read.
 */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const date = ASCTIME.test(text) ? `${text} GMT` : text
  if (date === text && !HTTP_DATES.some((form) => form.test(text))) return undefined
  const at = Date.parse(date)
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0)
}
