import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import type { Ask, Query } from './api/ask.ts'
import { asked } from './api/refused.ts'

export type Pages<T, F> = { items: T[]; first: F }

/** Up to `limit` items of a list that the API gives in pages of at most `most`; `first` is what its first page says beside them. @throws CliFault */
export async function pages<T, F extends object>(
  ask: Ask,
  path: string,
  {
    item,
    first,
    query,
    limit,
    most,
  }: { item: z.ZodType<T>; first: z.ZodType<F>; query: Query; limit: number; most: number },
): Promise<Pages<T, F>> {
  const shape = z.object({ items: z.array(item), next: z.string().nullable() }).and(first)
  const items: T[] = []
  let [cursor, told]: [string | undefined, F | undefined] = [undefined, undefined]
  for (;;) {
    const wanted = { ...query, limit: Math.min(most, limit - items.length), cursor }
    const page: z.infer<typeof shape> = await asked(ask, { path, query: wanted }, shape)
    told ??= page
    items.push(...page.items)
    cursor = page.next ?? undefined
    if (cursor === undefined || items.length >= limit) return { items, first: told }
  }
}

/** For `--limit`. */
export function wholeNumber(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('a whole number above 0 is needed')
}
