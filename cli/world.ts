import type { Output } from './output.ts'

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
