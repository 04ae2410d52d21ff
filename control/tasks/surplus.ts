import type { Task } from '../../schemas/task.ts'
import type { Known } from './known.ts'

/** For so long, and so many of each kind: whoever waits for one, or repeats a request, comes long before. */
const KEPT_MS = 30 * 24 * 3_600_000
export const MOST = 10_000

/** Tasks that are over and need not be kept any more. @param now ms since 1970. */
export function surplus({ deletions, syncs, replays }: Known, now: number): Task[] {
  return [deletions, syncs, replays]
    .flatMap((all) => {
      const over = [...all.values()]
        .filter(({ state }) => state !== 'accepted')
        .map((task) => ({ task, at: Date.parse(task.finishedAt ?? task.createdAt) }))
        .toSorted((one, other) => one.at - other.at)
      return over.filter(({ at }, index) => index < over.length - MOST || at < now - KEPT_MS)
    })
    .map(({ task }) => task)
}
