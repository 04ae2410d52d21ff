import { z } from 'zod'
import { countBefore } from '../../process/sorted.ts'
import { idShape } from '../../settings/settings.ts'
import { flag } from './operation.ts'

export const pageShape = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Maximum number of items.'),
  cursor: idShape.optional().describe('`next` of the previous page.'),
})

export const pageOf = (shown: z.ZodType) => z.strictObject({ items: z.array(shown), next: nextShape })

const nextShape = z
  .string()
  .nullable()
  .describe('Pass it as `cursor` to get the next page; null on the last one.')

export type Page<T> = { items: T[]; next: string | null }

/**
 * Records created or removed between two pages shift no others. Holds only the page, because there may be very many
 * suppressions.
 */
export function page<T extends { id: string }>(
  all: Iterable<T>,
  { limit, cursor = '' }: z.infer<typeof pageShape>,
): Page<T> {
  const first: T[] = []
  for (const record of all) {
    const last = first.at(-1)
    if (record.id <= cursor || (first.length > limit && last && record.id > last.id)) continue
    const place = countBefore(first, ({ id }) => id < record.id)
    first.splice(place, 0, record)
    if (first.length > limit + 1) first.pop()
  }
  const items = first.slice(0, limit)
  return { items, next: first.length > limit ? (items.at(-1)?.id ?? null) : null }
}

export const tasksPageShape = z.strictObject({
  limit: pageShape.shape.limit,
  cursor: z
    .string()
    .regex(/^[a-z0-9_-]{1,81}$/, 'use the next of the previous page')
    .optional()
    .describe('`next` of the previous page.'),
  newest: flag('`true`: most recently created first. Default: in id order.'),
})

type Created = { id: string; createdAt: string }

export function pageOfTasks<T extends Created>(
  tasks: Iterable<T>,
  { newest, ...query }: z.infer<typeof tasksPageShape>,
): Page<T> {
  if (newest !== 'true') return page(tasks, query)
  const placed = [...tasks].map((task) => ({ id: timePlace(task), task }))
  const { items, next } = page(placed, query)
  return { items: items.map(({ task }) => task), next }
}

/** Latest time (ECMA-262, "Time Values"). Sorting by the time left until then puts the newest first. */
const LAST = 8.64e15
const timePlace = ({ createdAt, id }: Created) =>
  `${String(LAST - Date.parse(createdAt)).padStart(16, '0')}-${id}`
