import { z } from 'zod'
import { pageShape } from '../../api/pagination.ts'
import { cursorShape, type RecordPosition } from './recent-records.ts'

const time = z.iso
  .datetime({ offset: true, error: 'give a time in ISO 8601, like 2026-01-02T03:04:05.678Z' })
  .transform((text) => Date.parse(text))

/** Times in ms since 1970; `until` is exclusive. */
export const rangeFields = {
  limit: pageShape.shape.limit,
  cursor: cursorShape.optional().describe('`next` of the previous page.'),
  since: time.optional().describe('Start of the time range, inclusive.'),
  until: time.optional().describe('End of the time range, exclusive.'),
}

export const idField = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'at most 256 characters')
  .describe('Must match exactly.')

export function isWithin(
  { time }: Pick<RecordPosition, 'time'>,
  {
    since = Number.NEGATIVE_INFINITY,
    until = Number.POSITIVE_INFINITY,
  }: { since?: number | undefined; until?: number | undefined },
): boolean {
  return time >= since && time < until
}

/** Longer ids do not fit in a URL. */
export const userField = z.string().min(1, 'must not be empty').max(4_096, 'at most 4,096 characters')

export const nameField = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'at most 256 characters')
  .describe('Name of a track event, a page or a screen. Must match exactly.')

export const statusShape = z
  .string()
  .regex(/^[1-9](?:\d\d|xx)$/, 'give an HTTP status such as 404, or a class such as 5xx')

export function matchesStatus(asked: string): (status: number | null) => boolean {
  const [from, to] = asked.endsWith('xx') ? [Number(asked[0]) * 100, 99] : [Number(asked), 0]
  return (status) => status !== null && status >= from && status <= from + to
}
