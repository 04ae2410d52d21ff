import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Role } from './config.ts'

export type { Logger }

/**
 * JSON lines on stdout, pretty on a terminal. Field names are the same in every process: `sourceId`, `destinationId`,
 * `deliveryId`, `messageId`, `topic`, `partition`, `offset`, `code`. Secrets are never fields.
 */
export function createLog(options: { role: Role | 'start'; level: string }): Logger {
  const base = { process: options.role }
  const destination = process.stdout.isTTY
    ? pretty({ ignore: 'pid,hostname', sync: true })
    : pino.destination({ sync: false })
  return pino(
    { level: options.level, base, formatters: { level: (label) => ({ level: label }) } },
    destination,
  )
}
