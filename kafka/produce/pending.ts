/**
 * `unknown`: no acknowledgement before the deadline or the close; the records may still be written. `full`: too many
 * bytes wait. `too_large`, `refused`: one record cannot be written.
 */
export type Produced = 'acked' | 'unknown' | 'full' | 'too_large' | 'refused'

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
