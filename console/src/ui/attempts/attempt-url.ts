/** The URLs of a destination's webhooks, in their order; what they were before `since` (ISO 8601) nobody knows. */
export type Urls = { urls: readonly string[]; since: string }

/** Where an attempt went, of whose webhook only the position is kept. */
export function urlOf(
  { urlIndex, startedAt }: { urlIndex: number | null; startedAt: string | null },
  known?: Urls,
): string {
  if (urlIndex === null) return ''
  const number = `URL ${urlIndex + 1}`
  if (!known) return number
  if (startedAt !== null && startedAt < known.since) return `${number} (settings have changed since)`
  return known.urls[urlIndex] ?? number
}
