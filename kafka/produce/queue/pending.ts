import type { Produced } from '../produce.ts'

export type Pending = {
  /** By the monotonic clock, in ms. */
  deadline: number
  outcome: Promise<Produced>
  settle(produced: Produced): void
  /**
   * Settles all records at the first refusal, or after the last record.
   * @returns whether it was the last.
   */
  ended(outcome: 'acked' | 'refused'): boolean
  /** How many records have not ended. */
  left(): number
}

export function openPending(records: number, deadline: number): Pending {
  const { promise: outcome, resolve: settle } = Promise.withResolvers<Produced>()
  let left = records
  return {
    deadline,
    outcome,
    settle,
    ended(outcome) {
      left -= 1
      if (left === 0 || outcome === 'refused') settle(outcome)
      return left === 0
    },
    left: () => left,
  }
}

/** `late`: batches past their deadline. `dropped`: those that leave the queue. `nextAt`: when to check again. */
export type Expiry<B> = { late: B[]; dropped: ReadonlySet<B>; nextAt: number }

/**
 * Late records stay in the queue, unless their partition is unwritable. A batch drops all its remaining records or
 * none: later ones must not be written without earlier ones.
 * @param unwritable has a batch once for each of its records that wait for their partition.
 * @param now infinity at the end, when nothing is sent any more.
 */
export function expiryOf<B extends { pending: Pending }>(
  { sendable, unwritable }: { sendable: readonly B[]; unwritable: readonly B[] },
  now: number,
): Expiry<B> {
  const late: B[] = []
  const dropped = new Set<B>()
  let nextAt = Number.POSITIVE_INFINITY
  const waiting = new Map<B, number>(sendable.map((batch) => [batch, 0]))
  for (const batch of unwritable) waiting.set(batch, (waiting.get(batch) ?? 0) + 1)
  for (const [batch, records] of waiting) {
    const { deadline, left } = batch.pending
    if (deadline > now) {
      nextAt = Math.min(nextAt, deadline)
      continue
    }
    late.push(batch)
    if (records === 0) continue
    if (records === left() || now === Number.POSITIVE_INFINITY) dropped.add(batch)
    else nextAt = 0
  }
  return { late, dropped, nextAt }
}
