import { styleText } from 'node:util'

export type Env = Readonly<Record<string, string | undefined>>

/** 0 done, 1 failed, 2 (`diff` only) something differs. */
export type ExitCode = 0 | 1 | 2

/** What commands have of the outside, beside files and HTTP. */
export type World = {
  env: Env
  /** What was asked for. */
  out: Output
  /** What is said about it. */
  err: Output
  readInput(): Promise<string>
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
}

export type Style = 'green' | 'yellow' | 'red' | 'dim'

export type Output = {
  line(text: string): void
  /** As it is, without a colour, where nobody looks. */
  styled(style: Style, text: string): string
  /** Aborted when whoever read has gone (`sluice dead | head -1`): all further lines are dropped. */
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
    // asks whether it is a terminal, and NO_COLOR
    styled: (style, text) => styleText(style, text, { stream }),
    closed: closing.signal,
  }
}

export type CliFaultCode =
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

/** What whoever runs the command can put right: told on stderr without a stack, and the exit code is 1. */
export class CliFault extends Error {
  override name = 'CliFault'
  readonly code: CliFaultCode

  constructor(code: CliFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
