import { readOrExit } from '../harness/command-line.ts'
import { exitWhenInterrupted } from '../harness/scratch.ts'
import { killAllChildren } from '../local/child-process.ts'

const begun = performance.now()

/** To stderr, with the seconds since the program began. */
export const say = (text: string) =>
  process.stderr.write(`${((performance.now() - begun) / 1_000).toFixed(1).padStart(7)} s  ${text}\n`)

export type Program<T> = {
  usage: string
  /** What the command line says. @throws when it says it wrongly. */
  options: () => T
  /** Whether what was to hold holds. */
  run: (options: T) => Promise<boolean>
}

/**
 * Exit code 0: what was to hold holds; 1: it does not; 2: it could not be found out, or the command line is wrong. Whatever was
 * started ends with the program.
 */
export async function runProgram<T>({ usage, options, run }: Program<T>): Promise<void> {
  const asked = readOrExit(usage, options)
  exitWhenInterrupted()
  try {
    process.exitCode = (await run(asked)) ? 0 : 1
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
    await killAllChildren()
    // its clients would go on for ever
    process.exit(2)
  }
}
