const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'short' })
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })

export const localTime = (iso: string): string => LOCAL.format(new Date(iso))

/** Omits the date if it is today. */
export function shortTime(iso: string, now = new Date()): string {
  const time = new Date(iso)
  return DAY.format(time) === DAY.format(now) ? CLOCK.format(time) : LOCAL.format(time)
}

/** `2026-01-02 03:04:05.678 UTC` */
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
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

/** A setting, without rounding: "4 hours", "90 seconds", "1 day". */
export function exactDuration(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1]
  return unit === 'ms' ? `${formatInteger(ms)} ms` : pluralize(ms / length, unit)
}

/** For a `datetime-local` field: local zone, to the minute. */
export function toLocalInput(iso: string): string {
  const time = new Date(iso)
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The last time with a four-digit year: browsers accept longer years, `Date.parse` does not. */
export const MAX_LOCAL_INPUT = '9999-12-31T23:59'

/**
 * @param typed from a `datetime-local` field.
 * @param applied ISO 8601. Kept if the field still shows it: it may have seconds, or be in the hour that occurs twice
 * when clocks are set back.
 * @returns ISO 8601; undefined without a time
 */
export function fromLocalInput(typed: string, applied?: string): string | undefined {
  if (applied !== undefined && typed !== '' && typed === toLocalInput(applied)) return applied
  const time = Date.parse(typed)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

const WHOLE = new Intl.NumberFormat(undefined)
const RATE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const formatInteger = (count: number): string => WHOLE.format(count)

export const formatRate = (value: number): string => RATE.format(value)

export const pluralize = (count: number, one: string, more = `${one}s`): string =>
  `${formatInteger(count)} ${count === 1 ? one : more}`

const HOUR_MS = 3_600_000

type Choice = { value: string; label: string }

const PERIODS = [
  { hours: 1, length: '1 hour', last: 'Last hour' },
  { hours: 24, length: '1 day', last: 'Last day' },
  { hours: 168, length: '7 days', last: 'Last 7 days' },
]

/** Each value is a number of hours. */
export const LAST_PERIODS: readonly Choice[] = PERIODS.map(({ hours, last }) => ({
  value: String(hours),
  label: last,
}))
/** Of `OVERLAPS`: the old key or secret ends on replacement. */
export const AT_ONCE = '0'

/** How long a replaced key or secret stays valid, in hours. */
export const OVERLAPS: readonly Choice[] = [
  ...PERIODS.map(({ hours, length }) => ({ value: String(hours), label: `For ${length}` })),
  { value: AT_ONCE, label: 'End it now' },
]

/** @param hours of `OVERLAPS`. @param now ms since 1970. @returns ISO 8601, or undefined for `AT_ONCE` */
export const overlapEnd = (hours: string, now: number): string | undefined =>
  hours === AT_ONCE ? undefined : hoursBefore(-Number(hours), now)

/** @param now ms since 1970. @returns ISO 8601 */
export const hoursBefore = (hours: number, now: number): string =>
  new Date(now - hours * HOUR_MS).toISOString()
