import { InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'
import { z } from 'zod'
import { type Ask, asked, type Query } from './api/ask.ts'
import { CliFault } from './world.ts'

/** Rows under their heads, as wide as what is in them; the last column is never cut. Nothing for no rows. */
export function table(heads: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  if (rows.length === 0) return []
  const cells = [heads, ...rows].map((row) => heads.map((_, column) => plain(row[column])))
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** On one line, and without what a terminal would obey: it may come from anybody. */
export const plain = (value: unknown): string =>
  value === undefined || value === null || value === ''
    ? '-'
    : String(value).replace(
        /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
        (character) => ESCAPES[character] ?? coded(character),
      )

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const coded = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

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
