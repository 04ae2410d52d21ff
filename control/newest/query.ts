import { z } from 'zod'
import { pageShape } from '../http/page.ts'
import { cursorShape, type Place } from './place.ts'

const time = z.iso
  .datetime({ offset: true, error: 'give a time in ISO 8601, like 2026-01-02T03:04:05.678Z' })
  .transform((text) => Date.parse(text))

/** What is asked of the newest: a page of them, and from when to when (ms since 1970; `until` is not included). */
export const rangeFields = {
  limit: pageShape.shape.limit,
  cursor: cursorShape.optional().describe('`next` of the page before.'),
  since: time.optional().describe('The first time that is included.'),
  until: time.optional().describe('This time is not included.'),
}

/** Of deliveries and calls. */
export const idField = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'at most 256 characters')
  .describe('Compared as it is.')

export function isWithin(
  { time }: Pick<Place, 'time'>,
  {
    since = Number.NEGATIVE_INFINITY,
    until = Number.POSITIVE_INFINITY,
  }: { since?: number | undefined; until?: number | undefined },
): boolean {
  return time >= since && time < until
}
