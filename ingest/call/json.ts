import { isUtf8 } from 'node:buffer'
import { cutLongNames, NAME_CHARS, parseJson } from '../../process/parse-json.ts'
import { QUOTE_BYTES } from '../limits.ts'

export type JsonObject = { readonly [key: string]: unknown }

/** `text`: the body, to store if it is rejected. `bytes`: its length in UTF-8. */
export type Parsed = { text: string; bytes: number } & (
  | { ok: true; value: unknown }
  | { ok: false; code: 'invalid_encoding' | 'invalid_json' }
)

const BYTE_ORDER_MARK = '\uFEFF'

/** Skips a byte order mark. */
export function parseBody(body: Buffer): Parsed {
  const bytes = body.length
  const whole = body.toString('utf8')
  if (!isUtf8(body)) return { ok: false, text: whole, bytes, code: 'invalid_encoding' }
  const text = whole.startsWith(BYTE_ORDER_MARK) ? whole.slice(1) : whole
  try {
    return { ok: true, text, bytes, value: parseJson(cutLongNames(text)) }
  } catch {
    return { ok: false, text, bytes, code: 'invalid_json' }
  }
}

/**
 * The cost of parsing, in bytes of cheap JSON. Quotes cost more: V8 stores each string, and each new key changes the
 * layout of an object.
 */
export function parseCost(body: Buffer): number {
  let cost = body.length
  for (let at = body.indexOf(QUOTE); at !== -1; at = body.indexOf(QUOTE, at + 1)) cost += QUOTE_BYTES
  return cost
}

const QUOTE = 0x22

/** The most bytes of one character: an escape such as \u001f. */
const CHARACTER = 6
/** More bytes than any number, true, false or null with a comma. */
const SCALAR = 26

/**
 * An upper bound of the bytes of the JSON, far cheaper than printing it. Infinity if nested deeper than `levels`, which
 * protects the stack, or if a name is too long.
 */
export function boundOf(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length * CHARACTER + 3
  if (typeof value !== 'object' || value === null) return SCALAR
  if (levels === 0) return Number.POSITIVE_INFINITY
  let sum = 3
  if (Array.isArray(value)) {
    for (const item of value) sum += boundOf(item, levels - 1)
    return sum
  }
  // objects of JSON.parse have no inherited keys
  for (const key in value) {
    if (key.length > NAME_CHARS) return Number.POSITIVE_INFINITY
    sum += key.length * CHARACTER + 3 + boundOf((value as JsonObject)[key], levels - 1)
  }
  return sum
}

/** Whether it is nested deeper than `levels`, as in `boundOf`. */
export function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeep(item, levels - 1))
  for (const key in value) if (isDeep((value as JsonObject)[key], levels - 1)) return true
  return false
}

/** Whether a name within `levels` levels is too long. */
export function nestsLongName(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || levels === 0) return false
  if (Array.isArray(value)) {
    for (const item of value) if (nestsLongName(item, levels - 1)) return true
    return false
  }
  for (const key in value)
    if (key.length > NAME_CHARS || nestsLongName((value as JsonObject)[key], levels - 1)) return true
  return false
}

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
