import { inspect } from 'node:util'
import { readOrExit } from '../harness/command-line.ts'
import { exitWhenInterrupted } from '../harness/scratch.ts'
import { killAllChildren } from '../local/processes/child-process.ts'

const begun = performance.now()

/** The seconds since the start. */
export const elapsed = (): string => `${((performance.now() - begun) / 1_000).toFixed(1).padStart(7)} s`

/** On stderr. */
export const say = (text: string) => process.stderr.write(`${elapsed()}  ${text}\n`)

/** A listener for log lines that prints errors on stderr, after this name. */
export const printErrors = (name: string) => (line: string) => {
  if (/"level":"(error|fatal)"/.test(line)) process.stderr.write(`    ${name}: ${line.slice(0, 600)}\n`)
}

export type Program<T> = {
  usage: string
  /** Parses the command line. @throws if it is invalid */
  options: () => T
  /** Whether the guarantee holds. */
  run: (options: T) => Promise<boolean>
}

/**
 * Exit code 0: the guarantee holds; 1: it does not; 2: the run failed or the command line is wrong. What it started
 * ends with it.
 */
export async function runProgram<T>({ usage, options, run }: Program<T>): Promise<void> {
  const given = readOrExit(usage, options)
  exitWhenInterrupted()
  try {
    process.exitCode = (await run(given)) ? 0 : 1
  } catch (error) {
    process.stderr.write(`${inWords(error)}\n`)
    await killAllChildren()
    // its clients would never end
    process.exit(2)
  }
}

/** With what failed first, and what failed while the run was cleaning up. */
function inWords(error: unknown): string {
  if (error instanceof SuppressedError)
    return `${inWords(error.suppressed)}\nThen, while cleaning up: ${inWords(error.error)}`
  return error instanceof Error ? inspect(error) : String(error)
}
