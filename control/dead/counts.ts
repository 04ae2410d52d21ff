import { z } from 'zod'
import type { DeadLetter } from './query.ts'

export const countShape = z.strictObject({ destinationId: z.string(), reason: z.string(), count: z.number() })

export type Count = z.infer<typeof countShape>

/** How many there are of each destination and reason, the most first. */
export function counts(letters: Iterable<DeadLetter>): Count[] {
  const found = new Map<string, Count>()
  for (const { destinationId, reason } of letters) {
    const key = `${destinationId}/${reason}`
    const known = found.get(key)
    if (known) known.count += 1
    else found.set(key, { destinationId, reason, count: 1 })
  }
  return [...found.values()].sort((a, b) => b.count - a.count || (keyOf(a) < keyOf(b) ? -1 : 1))
}

const keyOf = ({ destinationId, reason }: Count) => `${destinationId}/${reason}`
