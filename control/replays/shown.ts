import { z } from 'zod'
import { type Replay, replayTask } from '../../schemas/task.ts'

export const shownShape = replayTask
  .omit({ kind: true, ranges: true, places: true })
  .extend({
    state: z.enum(['running', 'done', 'cancelled', 'failed']),
    total: z.number().int().nonnegative().describe('Records that there are to read.'),
    selected: z.number().int().positive().optional().describe('So many were chosen by deliveryIds.'),
  })
  .strict()
  .meta({ id: 'Replay' })

export function shownReplay({ kind: _, ranges, places, state, ...rest }: Replay): z.infer<typeof shownShape> {
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
  return {
    ...rest,
    ...(places && { selected: places.length }),
    state: state === 'accepted' ? 'running' : state,
    total,
  }
}
