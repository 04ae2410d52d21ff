/**
 * The outcome for records that were produced together.
 * `unknown`: not acknowledged within the deadline, or before the producer was closed; they may still be written later.
 * `full`: too many bytes wait already; nothing was taken.
 * `too_large`: one of them exceeds what the broker takes; nothing was taken.
 * `refused`: the broker refuses one of them for good.
 */
export type Produced = 'acked' | 'unknown' | 'full' | 'too_large' | 'refused'

/** Records that were produced together, and their outcome. */
export type Pending = {
  /** By the monotonic clock, in ms; after it nobody waits for the outcome. */
  deadline: number
  outcome: Promise<Produced>
  settle(produced: Produced): void
  /** One record has ended: the first refusal settles all of them, otherwise the last record does. @returns whether it was the last. */
  ended(outcome: 'acked' | 'refused'): boolean
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
  }
}
