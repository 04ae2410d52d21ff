import { z } from 'zod'
import { progressNote, type Replay, replayTask } from '../../schemas/task.ts'
import type { Tasks } from '../tasks/follow.ts'

export const shownShape = replayTask
  .omit({ kind: true, ranges: true, places: true })
  .extend({
    ...progressNote.pick({ read: true, replayed: true }).shape,
    state: z.enum(['running', 'done', 'cancelled']),
    total: z.number().int().nonnegative().describe('Records that there are to read.'),
    selected: z.number().int().positive().optional().describe('So many were chosen by deliveryIds.'),
  })
  .strict()
  .meta({ id: 'Replay' })

/** `read` and `replayed` are a few seconds old, and after a crash at most as many too few as were under way. */
export function shownReplay(
  { kind: _, ranges, places, state, ...rest }: Replay,
  { tasks }: { tasks: Pick<Tasks, 'progress'> },
): z.infer<typeof shownShape> {
  const { read = 0, replayed = 0 } = tasks.progress.get(rest.id) ?? {}
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
  return {
    ...rest,
    ...(places && { selected: places.length }),
    state: state === 'accepted' ? 'running' : state,
    total,
    read,
    replayed,
  }
}
