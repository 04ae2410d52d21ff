import { parseArgs } from 'node:util'

/** `--help` prints the usage and exits with 0. If `read` throws, prints the error and the usage, and exits with 2. */
export function readOrExit<T>(usage: string, read: () => T): T {
  const options = { help: { type: 'boolean', short: 'h' } } as const
  if (parseArgs({ options, strict: false }).values.help) {
    process.stdout.write(usage)
    process.exit(0)
  }
  try {
    return read()
  } catch (error) {
    // the rest of Node's message suggests other ways to write the option
    const [what] = String(error instanceof Error ? error.message : error).split(/\.\s|\n/)
    process.stderr.write(`${what}\n\n${usage}`)
    process.exit(2)
  }
}

/** @throws unless `text` is a number above 0, and a whole one if `isWhole` */
export function sizeOf(option: string, text: string, isWhole = false): number {
  const size = Number(text)
  if (size > 0 && (isWhole ? Number.isInteger(size) : Number.isFinite(size))) return size
  throw new Error(`${option} takes a ${isWhole ? 'whole ' : ''}number above 0, and not '${text}'`)
}
