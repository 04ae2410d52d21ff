import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'
import { printableJson } from './printable.ts'

export type { Logger }

// its 30 modules are needed only on a terminal
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined

/** Copies only what describes the error: some clients attach options that hold secrets. */
function plainError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name: type, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return { type, message, code, stack, ...(cause !== undefined && { cause: plainError(cause) }) }
}

/**
 * JSON lines on stdout; formatted on a terminal. Field names are the same everywhere: `sourceId`, `destinationId`,
 * `deliveryId`, `messageId`, `topic`, `partition`, `offset`, `code`. No field holds a secret.
 */
export function createLog(options: { role: string; level: string }): Logger {
  const base = { process: options.role }
  const destination =
    pretty?.({ ignore: 'pid,hostname', singleLine: true, destination: terminal() }) ??
    pino.destination({ sync: false })
  return pino(
    {
      level: options.level,
      base,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: plainError },
      hooks: { streamWrite: printableJson },
    },
    destination,
  )
}

/** Escapes again, because pretty lines contain the decoded text. */
const terminal = () =>
  new Writable({
    write(text, _, done) {
      process.stdout.write(printableJson(String(text)))
      done()
    },
  })

const MAX_KINDS = 10_000

/** Allows one line of each kind per `everyMs`. */
export function createLogLimit(everyMs: number): (kind: string) => boolean {
  const loggedAt = new Map<string, number>()
  return (kind) => {
    const now = performance.now()
    if (now - (loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < everyMs) return false
    if (loggedAt.size >= MAX_KINDS) loggedAt.clear()
    loggedAt.set(kind, now)
    return true
  }
}
