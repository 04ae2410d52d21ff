import ms, { type StringValue } from 'ms'
import { CliFault } from './fault.ts'

/**
 * A point in time as the API takes it: ISO 8601 as it is, or how long ago, like `90s`, `15m`, `2h`, `7d`.
 * @param now milliseconds since 1970. @throws CliFault usage
 */
export function timeOf(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined
  if (/^\d+(\.\d+)?[smhd]$/.test(text)) return new Date(now - ms(text as StringValue)).toISOString()
  // without a zone it would be this machine's
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)))
    return new Date(text).toISOString()
  throw new CliFault(
    'usage',
    `"${text}" is no time: give how long ago, like 15m, 2h or 7d, or one like 2026-01-02T03:04:05Z`,
  )
}
