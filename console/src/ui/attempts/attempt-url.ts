/** The URLs of a destination's webhooks, in order. `since`: ISO 8601; earlier URLs are unknown. */
export type Urls = { urls: readonly string[]; since: string }

/** The URL of an attempt, which stores only the position of its webhook. */
export function urlOf(
  { urlIndex, startedAt }: { urlIndex: number | null; startedAt: string | null },
  known?: Urls,
): string {
  if (urlIndex === null) return ''
  const number = `URL ${urlIndex + 1}`
  if (!known) return number
  if (startedAt !== null && startedAt < known.since) return `${number} (settings changed since)`
  return known.urls[urlIndex] ?? number
}
