const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'short' })
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })

/** In the zone of who looks. */
export const localTime = (iso: string): string => LOCAL.format(new Date(iso))

/** With the day only where it is not today. */
export function shortTime(iso: string, now = new Date()): string {
  const time = new Date(iso)
  return DAY.format(time) === DAY.format(now) ? CLOCK.format(time) : LOCAL.format(time)
}

/** As `2026-01-02 03:04:05.678 UTC`. */
export const utcTime = (iso: string): string =>
  `${new Date(iso).toISOString().replace('T', ' ').replace('Z', '')} UTC`

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** "3 min. ago", "in 5 sec.". @param now ms since 1970. */
export function fromNow(iso: string, now: number): string {
  const ms = Date.parse(iso) - now
  const [unit, length] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? ['second', 1_000]
  return AGO.format(Math.round(ms / length), unit)
}

/** "12 ms", "1.4 s", "3 min". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

/** As a field of type `datetime-local` has it: in the zone of who looks, to the minute. */
export function typedTime(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const WHOLE = new Intl.NumberFormat(undefined)
const RATE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const whole = (count: number): string => WHOLE.format(count)

/** Of things a second or a minute. */
export const rate = (value: number): string => RATE.format(value)

/** "1 URL", "2 URLs". */
export const counted = (count: number, one: string, more = `${one}s`): string =>
  `${whole(count)} ${count === 1 ? one : more}`

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
