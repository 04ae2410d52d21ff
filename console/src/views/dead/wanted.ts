import type { DeadFilter, DeadLetter } from '../../api/dead.ts'
import type { NewReplay } from '../../api/replays.ts'

/** One replay for each destination of some dead letters. The API takes a thousand at once. */
export function ofLetters(letters: readonly DeadLetter[]): NewReplay[] {
  const byDestination = Map.groupBy(letters, ({ destinationId }) => destinationId)
  return [...byDestination].flatMap(([destinationId, its]) =>
    chunks(
      its.map(({ deliveryId }) => deliveryId),
      1_000,
    ).map((deliveryIds) => ({ destinationId, what: 'dead' as const, deliveryIds })),
  )
}

/** All that a filter has: of its destination, or of each that it shows. A message is its letters alone. */
export function ofFilter(filter: DeadFilter, letters: readonly DeadLetter[]): NewReplay[] {
  if (filter.messageId !== undefined) return ofLetters(letters)
  const { destinationId, reason, since } = filter
  const ids = destinationId ? [destinationId] : [...new Set(letters.map((letter) => letter.destinationId))]
  return ids.map((id) => ({
    destinationId: id,
    what: 'dead',
    ...(reason && { reason }),
    ...(since && { from: since }),
  }))
}

function chunks<T>(all: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / most) }, (_, index) =>
    all.slice(index * most, (index + 1) * most),
  )
}
