/** Milliseconds since 1970 in UTC. */
export type EventTimes = {
  timestamp: number
  receivedAt: number
  sentAt: number | null
  originalTimestamp: number | null
}

const DATE = String.raw`(\d{4})-?(\d\d)-?(\d\d)`
const CLOCK = String.raw`(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?`
const OFFSET = String.raw`(?:[Zz]|([+-])(\d\d):?(\d\d)?)`
const ISO = new RegExp(`^${DATE}(?:[Tt ]${CLOCK} ?${OFFSET}?)?$`)

const USUAL = /^\d{4}-\d\d-(?:[01]\d|2[0-8])T\d\d:\d\d:\d\d\.\d{3}Z$/

/** Years 1 to 9999, which all languages support. */
const EARLIEST = -62_135_596_800_000
const LATEST = 253_402_300_799_999

/**
 * ISO 8601: a date with or without time, extended or basic, any offset (default UTC), decimals cut to ms.
 * @returns null for anything else, including numbers.
 */
export function parseTime(value: unknown): number | null {
  if (typeof value !== 'string') return null
  return USUAL.test(value) ? inRange(Date.parse(value)) : parseAny(value)
}

function parseAny(value: string): number | null {
  const match = ISO.exec(value)
  if (!match) return null
  const [
    ,
    year,
    month,
    day,
    hour = '00',
    minute = '00',
    second = '00',
    decimals = '',
    sign,
    offsetHour = '00',
    offsetMinute = '00',
  ] = match
  const local = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}.${decimals.slice(0, 3).padEnd(3, '0')}Z`,
  )
  // Date.parse reads 30 February as 2 March; the hour 24 is on the next day
  if (Number(day) > 28 && new Date(`${year}-${month}-${day}`).getUTCDate() !== Number(day)) return null
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000
  return inRange(sign === '-' ? local + offset : local - offset)
}

const inRange = (time: number): number | null => (time >= EARLIEST && time <= LATEST ? time : null)

/**
 * `timestamp` is corrected by the client's clock error, which `sentAt` shows. Without `sentAt` it stays the client's,
 * for historical imports.
 */
export function eventTimes({
  receivedAt,
  sentAt,
  originalTimestamp,
}: Omit<EventTimes, 'timestamp'>): EventTimes {
  const skew = sentAt === null ? 0 : receivedAt - sentAt
  const timestamp =
    originalTimestamp === null ? receivedAt : (inRange(originalTimestamp + skew) ?? receivedAt)
  return { timestamp, receivedAt, sentAt, originalTimestamp }
}
