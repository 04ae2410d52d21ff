import { userIdShape } from '../../schemas/settings.ts'
import type { Change } from './diff.ts'
import { linesOf, UploadFault } from './lines.ts'

/** Reads a line of an upload. @throws UploadFault `invalid_line`. */
export type ReadLine = (line: string, number: number) => Change

/** What a text says of users, line by line. @throws UploadFault, and what the text throws when it breaks off. */
export async function* changesIn(text: AsyncIterable<Buffer>, readLine: ReadLine): AsyncGenerator<Change[]> {
  for await (const lines of linesOf(text)) yield lines.map(({ line, number }) => readLine(line, number))
}

/** A user's id as it is. */
export const plainMember: ReadLine = (line, number) => ({ userId: idOf(line, number), value: 'true' })

/** `"u1"` or `{"userId": "u1"}`. */
export const jsonMember: ReadLine = (line, number) => {
  const said = parsed(line, number)
  return {
    userId: idOf(typeof said === 'string' ? said : membersOf(said, number).userId, number),
    value: 'true',
  }
}

/** Of a trait, in JSON: it goes out in a call, which has at most twice that. */
const VALUE_CHARS = 16_384

/** `{"userId": "u1", "value": 42}`; null takes the value away. */
export const traitValue: ReadLine = (line, number) => {
  const { userId, value } = membersOf(parsed(line, number), number)
  if (value === undefined) throw invalid(number, 'has no "value"; null takes the value away')
  const text = JSON.stringify(value)
  if (text.length > VALUE_CHARS) throw invalid(number, `has a value of over ${VALUE_CHARS} characters`)
  return { userId: idOf(userId, number), value: value === null ? null : text }
}

const invalid = (number: number, message: string) => new UploadFault('invalid_line', number, message)

function parsed(line: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw invalid(number, 'is no JSON')
  }
}

function membersOf(said: unknown, number: number): { userId?: unknown; value?: unknown } {
  if (typeof said === 'object' && said !== null && !Array.isArray(said)) return said
  throw invalid(number, 'is no JSON object with a "userId"')
}

function idOf(id: unknown, number: number): string {
  const checked = userIdShape.safeParse(id)
  // what is no Unicode could not be written, and would be another user's id each time
  if (!checked.success || !checked.data.isWellFormed())
    throw invalid(number, 'has no "userId" of 1 to 32,768 characters')
  return checked.data
}
