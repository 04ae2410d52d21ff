import type { Produced } from './produce.ts'

/** Records that were produced together: what comes of them is told once. */
export type Group = {
  /** Milliseconds since 1970; past it nobody waits for the outcome. */
  deadline: number
  outcome: Promise<Produced>
  settle(produced: Produced): void
  /** One of them is acknowledged; the last settles the group. */
  acked(): void
}

export function openGroup(records: number, deadline: number): Group {
  const { promise: outcome, resolve: settle } = Promise.withResolvers<Produced>()
  let left = records
  return {
    deadline,
    outcome,
    settle,
    acked() {
      left -= 1
      if (left === 0) settle('acked')
    },
  }
}
