import { isObject } from '../process/json-objects.ts'
import type { Json } from './call.ts'

export type PlaceholderFilter = {
  /** A missing value is undefined. */
  apply: (value: Json | undefined, argument: Json | undefined) => Json | undefined
  /** What is wrong with the argument. Without `wrong`, the filter takes no argument. */
  wrong?: (argument: Json | undefined) => string | undefined
}

/** Missing values and null are empty, objects and lists are JSON. */
export function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

const textUnlessNull = (value: Json | undefined) =>
  value === undefined || value === null ? value : textOf(value)

/** Other values become strings first. */
const ofText = (apply: (text: string) => Json | undefined): PlaceholderFilter => ({
  apply: (value) => (value === undefined ? undefined : apply(textOf(value))),
})

const MAX_KEPT = 100_000

/** Each output is at most a few times as long as its input. */
export const PLACEHOLDER_FILTERS: Record<string, PlaceholderFilter> = {
  default: {
    apply: (value, argument) => (value === '' ? argument : (value ?? argument)),
    wrong: (argument) =>
      argument === undefined ? 'needs a value or a path, such as default: "none"' : undefined,
  },
  json: { apply: (value) => (value === undefined ? undefined : JSON.stringify(value)) },
  string: ofText((text) => text),
  number: { apply: (value) => (typeof value === 'number' ? value : numberOf(value)) },
  upper: ofText((text) => text.toUpperCase()),
  lower: ofText((text) => text.toLowerCase()),
  trim: ofText((text) => text.trim()),
  truncate: {
    apply: (value, length) => (value === undefined ? undefined : cut(textOf(value), Number(length))),
    wrong: (length) =>
      Number.isInteger(length) && Number(length) > 0 && Number(length) <= MAX_KEPT
        ? undefined
        : 'needs a number of characters, such as truncate: 100',
  },
  join: {
    apply: (value, separator) =>
      Array.isArray(value) ? value.map(textOf).join(String(separator)) : textUnlessNull(value),
    wrong: (separator) =>
      typeof separator === 'string' && separator.length <= 10
        ? undefined
        : 'needs a string of at most 10 characters, such as join: ", "',
  },
  size: { apply: sizeOf },
  unix: {
    apply: (value) => {
      const time = timeOf(value)
      return time === undefined ? undefined : Math.floor(time / 1000)
    },
  },
  date: {
    apply: (value) => {
      const time = timeOf(value)
      return time === undefined ? undefined : new Date(time).toISOString().slice(0, 'yyyy-mm-dd'.length)
    },
  },
  escape: ofText((text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')),
  urlencode: ofText((text) => encodeURIComponent(text.toWellFormed())),
}

const NUMBER = /^-?\d{1,30}(\.\d{1,30})?$/

const numberOf = (value: Json | undefined) =>
  typeof value === 'string' && NUMBER.test(value) ? Number(value) : undefined

/** Never splits a surrogate pair. */
function cut(text: string, length: number): string {
  return text.length <= length
    ? text
    : Array.from(text.slice(0, 2 * length))
        .slice(0, length)
        .join('')
}

function sizeOf(value: Json | undefined): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : undefined
}

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** An ISO 8601 date, or time with its zone, in ms since 1970. */
function timeOf(value: Json | undefined): number | undefined {
  if (typeof value !== 'string' || !ISO.test(value)) return
  const time = Date.parse(value)
  return time >= EARLIEST && time <= LATEST && isDay(value.slice(0, 'yyyy-mm-dd'.length)) ? time : undefined
}

/** With an offset, a time in UTC can be outside these years. Such dates are longer. */
const EARLIEST = Date.parse('0000-01-01')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

/** Date.parse reads 30 February as 2 March. */
const isDay = (date: string): boolean => new Date(date).toISOString().startsWith(date)
