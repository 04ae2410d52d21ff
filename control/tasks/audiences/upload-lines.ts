import { CodedError } from '../../../process/coded-error.ts'
import { isDeeper } from '../../../process/json-depth.ts'
import { isObject } from '../../../process/json-objects.ts'
import { parseJson, withPlainNames } from '../../../process/parse-json.ts'
import { userIdShape } from '../../../settings/settings.ts'
import type { Change } from './comparison.ts'

export const LINE_CODES = [
  'invalid_line',
  'inexact_number',
  'line_too_long',
  'invalid_encoding',
  'csv_as_text',
] as const
type LineCode = (typeof LINE_CODES)[number]

/** `line` counts from 1. */
export class UploadFault extends CodedError<LineCode> {
  readonly line: number
  constructor(code: LineCode, line: number, message: string) {
    super(code, message)
    this.line = line
  }
}

const NOT_UTF_8 = 'is not UTF-8, or a line near it is not: save the file as UTF-8 (in Excel: CSV UTF-8)'

/** More than a call may have: 32,768 bytes. */
export const MAX_CHARS = 40_000

/**
 * Splits UTF-8 text at `\n` into numbered lines (from 1). Holds one chunk and one line.
 * @throws UploadFault `invalid_encoding`, `line_too_long`; and whatever the text throws.
 */
export async function* linesOf(
  text: AsyncIterable<Buffer>,
): AsyncGenerator<{ line: string; number: number }[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let number = 0
  let rest = ''

  function decoded(bytes?: Buffer): string {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw new UploadFault('invalid_encoding', number + 1, NOT_UTF_8)
    }
  }

  const numbered = (lines: readonly string[]) =>
    lines.map((line) => {
      number += 1
      bounded(line, number)
      return { line, number }
    })

  for await (const bytes of text) {
    const lines = (rest + decoded(bytes)).split('\n')
    rest = lines.pop() ?? ''
    bounded(rest, number + lines.length + 1)
    yield numbered(lines)
  }
  yield numbered([rest + decoded()])
}

function bounded(line: string, number: number): void {
  if (line.length > MAX_CHARS)
    throw new UploadFault('line_too_long', number, `has more than ${MAX_CHARS} characters`)
}

/** @throws UploadFault `invalid_line`, `inexact_number`. */
export type ReadLine = (line: string, number: number) => Change

export type OnInvalid = (fault: UploadFault) => void

/**
 * Skips blank lines.
 * @param onInvalid gets faults of skipped lines; without it they are thrown.
 * @throws UploadFault, and whatever the text throws.
 */
export async function* changesIn(
  text: AsyncIterable<Buffer>,
  readLine: ReadLine,
  onInvalid?: OnInvalid,
): AsyncGenerator<Change[]> {
  for await (const lines of linesOf(text))
    yield lines.flatMap(({ line, number }) => {
      const content = line.trim()
      return content === '' ? [] : (takeLine(() => readLine(content, number), onInvalid) ?? [])
    })
}

/** After any other fault, the text cannot be read. */
const OF_ONE_LINE: ReadonlySet<string> = new Set(['invalid_line', 'inexact_number'] satisfies LineCode[])

export function takeLine(read: () => Change, onInvalid: OnInvalid | undefined): Change | undefined {
  try {
    return read()
  } catch (error) {
    if (!onInvalid || !(error instanceof UploadFault) || !OF_ONE_LINE.has(error.code)) throw error
    onInvalid(error)
    return undefined
  }
}

/** In CSV. Excel writes semicolons where the comma is the decimal separator, and tabs to the clipboard. */
export const SEPARATORS = [',', ';', '\t'] as const
export type Separator = (typeof SEPARATORS)[number]

/** Column names match in any case, with or without underscores. */
export const plainName = (name: string) => name.trim().toLowerCase().replaceAll('_', '')

/** @param line maybe a header, whose names may be quoted. */
export const namesUserId = (line: string, separator: Separator): boolean =>
  line.split(separator).some((name) => plainName(name.replaceAll('"', '')) === 'userid')

/**
 * Rejects JSON, CSV with a header, and lines with tabs: in the wrong format, an upload would report everyone as gone.
 * Other lines with commas or semicolons are ids.
 */
export const plainMember: ReadLine = (line, number) => {
  if (number === 1 && SEPARATORS.some((separator) => namesUserId(line, separator)))
    throw new UploadFault(
      'csv_as_text',
      number,
      'names columns, but text/plain lists user ids: send it as CSV (text/csv)',
    )
  if (/^\{.*\}$/.test(line))
    throw invalid(number, 'is a JSON object, but text/plain lists user ids: send application/x-ndjson')
  if (line.includes('\t'))
    throw invalid(
      number,
      'has a tab, but text/plain lists user ids: send it as CSV (text/csv), and name the columns in the first line',
    )
  return { userId: userIdOf(line, number), value: 'true' }
}

/** `"u1"` or `{"userId": "u1"}`. */
export const jsonMember: ReadLine = (line, number) => {
  const parsedLine: unknown = parsed(line, number, parseJson)
  return {
    userId: userIdOf(
      typeof parsedLine === 'string' ? parsedLine : membersOf(parsedLine, number).userId,
      number,
    ),
    value: 'true',
  }
}

/** JSON characters. A call has room for about twice as many. */
const VALUE_CHARS = 16_384

/** `{"userId": "u1", "value": 42}`; null removes the value. */
export const traitValue: ReadLine = (line, number) => {
  const { userId, value } = membersOf(exactly(line, number), number)
  if (value === undefined) throw invalid(number, 'has no "value"; use null to remove the value')
  return { userId: userIdOf(userId, number), value: value === null ? null : boundedValue(value, number) }
}

/** @param text JSON. @throws UploadFault */
export const parsedValue = (text: string, number: number): string =>
  boundedValue(exactly(text, number), number)

function boundedValue(value: unknown, number: number): string {
  const text = JSON.stringify(value)
  if (text.length > VALUE_CHARS) throw invalid(number, `has a value of more than ${VALUE_CHARS} characters`)
  return text
}

const invalid = (number: number, message: string) => new UploadFault('invalid_line', number, message)

function parsed<T>(line: string, number: number, parse: (text: string) => T): T {
  try {
    return parse(line)
  } catch {
    throw invalid(number, 'is not JSON')
  }
}

/** In a trait value. Its call has two more: 64, as many as ingest accepts. */
const VALUE_LEVELS = 62

function exactly(line: string, number: number): unknown {
  // before parsing, because a deep value would overflow the stack
  if (isDeeper(Buffer.from(line), VALUE_LEVELS + 1))
    throw invalid(number, `has a value with more than ${VALUE_LEVELS} levels of nesting`)
  const parsedLine = parsed(line, number, parseExactly)
  if ('value' in parsedLine) return parsedLine.value
  const message = `has the number ${parsedLine.inexact.slice(0, 50)}, which a double cannot hold: send it as a string`
  throw new UploadFault('inexact_number', number, message)
}

function membersOf(parsedLine: unknown, number: number): { userId?: unknown; value?: unknown } {
  if (isObject(parsedLine)) return parsedLine
  throw invalid(number, 'is not a JSON object with a "userId"')
}

/** Trims the id: with spaces, it would be another user. */
export function userIdOf(id: unknown, number: number): string {
  const checked = userIdShape.safeParse(typeof id === 'string' ? id.trim() : id)
  if (!checked.success) throw invalid(number, 'has no "userId" of 1 to 32,768 Unicode characters')
  return checked.data
}

/**
 * Finds numbers that a double cannot hold: receivers would get 12345678901234567890 as ...567000, and 1e999 as null.
 * Their digits cannot be passed on: receivers verify signatures over `JSON.stringify(JSON.parse(body))`.
 * @returns `inexact`: the first such number.
 * @throws SyntaxError
 */
function parseExactly(text: string): { value: unknown } | { inexact: string } {
  let inexact: string | undefined
  const plain = withPlainNames(text)
  const value = JSON.parse(plain.text, (_, member: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof member === 'number' && source !== undefined && !isExact(source, member)) inexact ??= source
    return member
  })
  return inexact === undefined ? { value: plain.restore(value) } : { inexact }
}

const isExact = (source: string, value: number) =>
  Number.isFinite(value) && (source === String(value) || canonical(source) === canonical(String(value)))

/** Digits without leading and trailing zeros, and the exponent. */
function canonical(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = `${whole}${fraction}`.replace(/^-?0*/, '')
  const [significant] = /^\d*[1-9]/.exec(digits) ?? []
  if (significant === undefined) return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
