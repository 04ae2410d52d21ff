const DATE = String.raw`(?<year>\d{4})-?(?<month>\d\d)-?(?<day>\d\d)`
const CLOCK = String.raw`(?<hour>\d\d):?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,]\d+)?)?`
const OFFSET = String.raw`(?:[Zz]|[+-](?<offsetHour>\d\d):?(?<offsetMinute>\d\d)?)`
const ISO = new RegExp(`^${DATE}(?:[Tt ]${CLOCK} ?${OFFSET}?)?$`)

/** ISO 8601 as the service reads it: a date, or date and time, extended or basic, any offset, any number of decimals. */
export function isIsoTime(text: string): boolean {
  const parts = ISO.exec(text)?.groups
  if (!parts) return false
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offsetHour = 0, offsetMinute = 0] = [
    parts.year,
    parts.month,
    parts.day,
    parts.hour,
    parts.minute,
    parts.second,
    parts.offsetHour,
    parts.offsetMinute,
  ].map((digits = '0') => Number(digits))
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false
  if (minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return false
  // ISO 8601 has 24:00:00 for the end of a day
  return hour < 24 || (hour === 24 && minute === 0 && second === 0)
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
