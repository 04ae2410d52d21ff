export const HOUR_MS = 3_600_000

type Choice = { value: string; label: string }

const LENGTHS = [
  { hours: 1, length: 'an hour', last: 'the last hour' },
  { hours: 24, length: 'a day', last: 'the last day' },
  { hours: 168, length: '7 days', last: 'the last 7 days' },
]

/** Spans of time to choose from, by their hours. */
export const LAST: readonly Choice[] = LENGTHS.map(({ hours, last }) => ({
  value: String(hours),
  label: last,
}))
export const FOR: readonly Choice[] = LENGTHS.map(({ hours, length }) => ({
  value: String(hours),
  label: `for ${length}`,
}))

/** @param now ms since 1970. @returns ISO 8601 */
export const hoursBefore = (hours: number, now: number): string =>
  new Date(now - hours * HOUR_MS).toISOString()
