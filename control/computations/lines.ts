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
