import { userIdShape } from '../../../settings/settings.ts'
import type { Change } from './comparison.ts'

/** The codes of what a line can have against it. */
export const LINE_CODES = ['invalid_line', 'inexact_number', 'line_too_long', 'invalid_encoding'] as const
type LineCode = (typeof LINE_CODES)[number]

/** Something of an upload that cannot be read. `line` counts from 1. */
export class UploadFault extends Error {
  readonly code: LineCode
  readonly line: number
  constructor(code: LineCode, line: number, message: string) {
    super(message)
    this.code = code
    this.line = line
  }
}

/** A call has at most so many bytes, and a line tells less than one. */
const MOST_CHARS = 40_000

/**
 * The lines of a text in UTF-8, as they come, with their numbers from 1; empty ones are left out. Holds no more than what came at
 * once and a line. @throws UploadFault `invalid_encoding`, `line_too_long`; and what the text throws when it breaks off.
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
      throw new UploadFault(
        'invalid_encoding',
        number + 1,
        'is no UTF-8, or one of the lines that came with it',
      )
    }
  }

  function whole(lines: readonly string[]): { line: string; number: number }[] {
    const kept = []
    for (const ended of lines) {
      number += 1
      const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended
      bounded(line, number)
      if (line !== '') kept.push({ line, number })
    }
    return kept
  }

  for await (const bytes of text) {
    const lines = (rest + decoded(bytes)).split('\n')
    rest = lines.pop() ?? ''
    bounded(rest, number + lines.length + 1)
    yield whole(lines)
  }
  yield whole([rest + decoded()])
}

function bounded(line: string, number: number): void {
  if (line.length > MOST_CHARS)
    throw new UploadFault('line_too_long', number, `has more than ${MOST_CHARS} characters`)
}

/** Reads a line of an upload. @throws UploadFault `invalid_line`, `inexact_number`. */
export type ReadLine = (line: string, number: number) => Change

/** What a text says of users, line by line. @throws UploadFault, and what the text throws when it breaks off. */
export async function* changesIn(text: AsyncIterable<Buffer>, readLine: ReadLine): AsyncGenerator<Change[]> {
  for await (const lines of linesOf(text)) yield lines.map(({ line, number }) => readLine(line, number))
}

/** A user's id as it is; a line of NDJSON under the wrong name would be the id of nobody. */
export const plainMember: ReadLine = (line, number) => {
  if (/^\{.*\}$/.test(line.trim()))
    throw invalid(
      number,
      'is a JSON object, which as text/plain would be a user\u2019s id: send application/x-ndjson',
    )
  return { userId: idOf(line, number), value: 'true' }
}

/** `"u1"` or `{"userId": "u1"}`. */
export const jsonMember: ReadLine = (line, number) => {
  const said: unknown = parsed(line, number, JSON.parse)
  return {
    userId: idOf(typeof said === 'string' ? said : membersOf(said, number).userId, number),
    value: 'true',
  }
}

/** Of a trait, in JSON: it goes out in a call, which has at most twice that. */
const VALUE_CHARS = 16_384

/** `{"userId": "u1", "value": 42}`; null takes the value away. */
export const traitValue: ReadLine = (line, number) => {
  const { userId, value } = membersOf(exactly(line, number), number)
  if (value === undefined) throw invalid(number, 'has no "value"; null takes the value away')
  const text = JSON.stringify(value)
  if (text.length > VALUE_CHARS) throw invalid(number, `has a value of over ${VALUE_CHARS} characters`)
  return { userId: idOf(userId, number), value: value === null ? null : text }
}

const invalid = (number: number, message: string) => new UploadFault('invalid_line', number, message)

function parsed<T>(line: string, number: number, parse: (text: string) => T): T {
  try {
    return parse(line)
  } catch {
    throw invalid(number, 'is no JSON')
  }
}

function exactly(line: string, number: number): unknown {
  const said = parsed(line, number, parseExactly)
  if ('value' in said) return said.value
  const message = `has the number ${said.inexact.slice(0, 50)}, which no double is: send it as a string`
  throw new UploadFault('inexact_number', number, message)
}

function membersOf(said: unknown, number: number): { userId?: unknown; value?: unknown } {
  if (typeof said === 'object' && said !== null && !Array.isArray(said)) return said
  throw invalid(number, 'is no JSON object with a "userId"')
}

function idOf(id: unknown, number: number): string {
  const checked = userIdShape.safeParse(id)
  if (!checked.success) throw invalid(number, 'has no "userId" of 1 to 32,768 characters of Unicode')
  return checked.data
}

/**
 * Reads JSON whose numbers are read again as they were written. Others would reach receivers as another value: 12345678901234567890
 * as ...567000, 1e999 as null. They cannot be passed on digit by digit either: receivers recompute signatures over
 * `JSON.stringify(JSON.parse(body))`.
 * @returns `inexact`: the first number that is not. @throws SyntaxError
 */
export function parseExactly(text: string): { value: unknown } | { inexact: string } {
  let inexact: string | undefined
  const value = JSON.parse(text, (_, member: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof member === 'number' && source !== undefined && !isExact(source, member)) inexact ??= source
    return member
  })
  return inexact === undefined ? { value } : { inexact }
}

const isExact = (source: string, value: number) =>
  Number.isFinite(value) && (source === String(value) || canonical(source) === canonical(String(value)))

/** The same for all ways to write a decimal: its digits without zeros at the ends, and where its point is. */
function canonical(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = `${whole}${fraction}`.replace(/^-?0*/, '')
  const [significant] = /^\d*[1-9]/.exec(digits) ?? []
  if (significant === undefined) return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
