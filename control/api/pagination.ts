import { z } from 'zod'
import { idShape } from '../../settings/settings.ts'

export const pageShape = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100).describe('Maximum number of items.'),
  cursor: idShape.optional().describe('`next` of the previous page.'),
})

export const pageOf = (shown: z.ZodType) => z.strictObject({ items: z.array(shown), next: nextShape })

export const nextShape = z
  .string()
  .nullable()
  .describe('Pass it as `cursor` to get the next page; null on the last one.')

export type Page<T> = { items: T[]; next: string | null }

/**
 * A page of records in id order. Records created or removed between two pages shift nothing else. One pass
 * over all records, holding only one page: there may be hundreds of thousands of suppressions.
 */
export function page<T extends { id: string }>(
  all: Iterable<T>,
  { limit, cursor = '' }: z.infer<typeof pageShape>,
): Page<T> {
  const first: T[] = []
  for (const record of all) {
    const last = first.at(-1)
    if (record.id <= cursor || (first.length > limit && last && record.id > last.id)) continue
    first.splice(placeOf(record.id, first), 0, record)
    if (first.length > limit + 1) first.pop()
  }
  const items = first.slice(0, limit)
  return { items, next: first.length > limit ? (items.at(-1)?.id ?? null) : null }
}

function placeOf(id: string, sorted: readonly { id: string }[]): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle]?.id ?? id) < id) low = middle + 1
    else high = middle
  }
  return low
}
