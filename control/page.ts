import { z } from 'zod'
import { idShape } from '../schemas/settings.ts'

export const pageShape = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  /** `next` of the page before. */
  cursor: idShape.optional(),
})

export type Page<T> = { items: T[]; next: string | null }

/** A page of records in the order of their ids. What is created or removed between two pages moves nothing else. */
export function page<T extends { id: string }>(
  all: Iterable<T>,
  { limit, cursor = '' }: z.infer<typeof pageShape>,
): Page<T> {
  const rest = [...all].filter(({ id }) => id > cursor).sort((a, b) => (a.id < b.id ? -1 : 1))
  const items = rest.slice(0, limit)
  return { items, next: rest.length > limit ? (items.at(-1)?.id ?? null) : null }
}
