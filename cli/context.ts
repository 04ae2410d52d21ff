import { styleText } from 'node:util'
import { CodedError } from '../process/coded-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** 0: done. 1: failed. 2: something differs (`diff`) or is wrong (`status`). */
export type ExitCode = 0 | 1 | 2

/** What commands use of the outside world, besides files and HTTP. */
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
  /** Unchanged if the output is not a terminal. */
  styled(style: Style, text: string): string
  /** The width of the terminal; undefined if the output is not one. */
  columns: number | undefined
  /** Aborted when the reader has gone (`sluice dead | head -1`): all further lines are dropped. */
  closed: AbortSignal
}

export function outputTo(stream: NodeJS.WriteStream): Output {
  const closing = new AbortController()
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    closing.abort()
  })
  return {
    line(text) {
      if (!closing.signal.aborted) stream.write(`${text}\n`)
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

/** A fault that the user can fix: printed on stderr without a stack; the exit code is 1. */
export class CliError extends CodedError<CliErrorCode> {
  override name = 'CliError'
}
