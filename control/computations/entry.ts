import { userIdShape } from '../../schemas/settings.ts'
import type { Change } from './diff.ts'
import { parseExactly } from './exact.ts'
import { linesOf, UploadFault } from './lines.ts'

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
