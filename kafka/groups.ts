import type { Produced } from './produce.ts'

/** Records that were produced together: what comes of them, is told once. */
export type Group = {
  outcome: Promise<Produced>
  settle(produced: Produced): void
  /** One of them is acknowledged; the last settles the group. */
  acked(): void
}

export type Groups = {
  /** @param deadline milliseconds since 1970; past it the outcome is `unknown`. */
  open(records: number, deadline: number): Group
  /** Settles all that are left as `unknown`. */
  close(): void
}

type Open = Pick<Group, 'settle'> & { deadline: number }

const SWEEP_MS = 250

/** The groups that nobody has been told of yet. */
export function createGroups(): Groups {
  const open = new Set<Open>()
  const sweep = setInterval(() => giveUp(Date.now()), SWEEP_MS).unref()

  function giveUp(now: number): void {
    for (const { deadline, settle } of open) if (deadline <= now) settle('unknown')
  }

  return {
    open(records, deadline) {
      const { promise, resolve } = Promise.withResolvers<Produced>()
      const one: Open = { deadline, settle }
      let left = records
      open.add(one)
      function settle(produced: Produced): void {
        open.delete(one)
        resolve(produced)
      }
      return {
        outcome: promise,
        settle,
        acked() {
          left -= 1
          if (left === 0) settle('acked')
        },
      }
    },
    close() {
      clearInterval(sweep)
      giveUp(Number.POSITIVE_INFINITY)
    },
  }
}
