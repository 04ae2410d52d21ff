/**
 * `unknown`: not acknowledged within the deadline, or before the producer closed; the records may still be written.
 * `full`: too many bytes are waiting already. `too_large`: one record is larger than the broker accepts. `refused`: the
 * broker refuses one record for good.
 */
export type Produced = 'acked' | 'unknown' | 'full' | 'too_large' | 'refused'

/** Records that were produced together. */
export type Pending = {
  /** By the monotonic clock, in ms. */
  deadline: number
  outcome: Promise<Produced>
  settle(produced: Produced): void
  /** The first refusal settles all records, otherwise the last one does. @returns whether it was the last. */
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
