import { parseArgs } from 'node:util'

/**
 * What `read` makes of the command line. With `--help` the usage goes to stdout, and the process ends with 0. Where `read` throws
 * it ends with 2, and stderr has one line that says what is wrong, then the usage.
 */
export function readOrExit<T>(usage: string, read: () => T): T {
  const options = { help: { type: 'boolean', short: 'h' } } as const
  if (parseArgs({ options, strict: false }).values.help) {
    process.stdout.write(usage)
    process.exit(0)
  }
  try {
    return read()
  } catch (error) {
    // Node goes on to say how an option could be meant otherwise
    const [what] = String(error instanceof Error ? error.message : error).split(/\.\s|\n/)
    process.stderr.write(`${what}\n\n${usage}`)
    process.exit(2)
  }
}

/** @param isWhole there is no half of it. @throws when it is no number above 0. */
export function sizeOf(option: string, text: string, isWhole = false): number {
  const size = Number(text)
  if (size > 0 && (isWhole ? Number.isInteger(size) : Number.isFinite(size))) return size
  throw new Error(`${option} takes a ${isWhole ? 'whole ' : ''}number above 0, and not '${text}'`)
}
