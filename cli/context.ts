import { isUtf8 } from 'node:buffer'
import { styleText } from 'node:util'
import { CodedError } from '../process/coded-error.ts'
import { printableJson } from '../process/printable.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** 0: done. 1: failed. 2: something differs (`diff`), is wrong (`status`) or is missing (`backup`). */
export type ExitCode = 0 | 1 | 2

export type Context = {
  env: Env
  out: Output
  err: Output
  readInput(): Promise<string>
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
}

export type Style = 'green' | 'yellow' | 'red' | 'dim'

export type Output = {
  line(text: string): void
  /** Plain text if the output is not a terminal. */
  styled(style: Style, text: string): string
  /** The terminal's width; undefined for other outputs. */
  columns: number | undefined
  /** Aborted when the reader has gone (`sluice dead | head -1`); later lines are dropped. */
  closed: AbortSignal
}

export function outputTo(stream: NodeJS.WriteStream): Output {
  const closing = new AbortController()
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      throw new CliError('cannot_write', `Cannot write the output: ${error.message}`, { cause: error })
    closing.abort()
  })
  return {
    line(text) {
      if (!closing.signal.aborted) stream.write(`${stream.isTTY ? printableJson(text) : text}\n`)
    },
    // respects isTTY and NO_COLOR
    styled: (style, text) => styleText(style, text, { stream }),
    columns: stream.isTTY ? stream.columns : undefined,
    closed: closing.signal,
  }
}

export type CliErrorCode =
  | 'no_address'
  | 'no_token'
  | 'usage'
  | 'cannot_read'
  | 'cannot_write'
  | 'faulty_files'
  | 'unreachable'
  | 'refused'
  | 'unknown_answer'
  | 'changed_meanwhile'

/** A fault that the user can fix: printed on stderr without a stack, exit code 1. */
export class CliError extends CodedError<CliErrorCode> {
  override name = 'CliError'
}

/**
 * Removes a byte order mark, and throws for other encodings: replacement characters would make an id another user's.
 * @throws CliError cannot_read
 */
export function utf8Of(bytes: Uint8Array, name: string): string {
  // not `fatal`, which also throws for more than 512 MB
  if (!isUtf8(bytes)) throw new CliError('cannot_read', `${name} is not UTF-8: convert it first`)
  return new TextDecoder().decode(bytes)
}
