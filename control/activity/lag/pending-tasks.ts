import { z } from 'zod'
import { TASK_KINDS, type Task } from '../../../schemas/task.ts'

export type Pending = { pending: ReadonlyMap<string, Task> }

export const pendingShape = z
  .strictObject({
    kind: z.enum(TASK_KINDS),
    count: z.number().int().nonnegative().describe('Unfinished tasks.'),
    oldestSeconds: z.number().describe('Seconds since the oldest of them was accepted; 0 if there are none.'),
  })
  .meta({ id: 'Undone' })

/** @param now ms since 1970. */
export function pendingByKind({ pending }: Pending, now: number): z.infer<typeof pendingShape>[] {
  return TASK_KINDS.map((kind) => {
    const times = [...pending.values()]
      .filter((task) => task.kind === kind)
      .map(({ createdAt }) => Date.parse(createdAt))
    const oldest = times.length > 0 ? now - Math.min(...times) : 0
    return { kind, count: times.length, oldestSeconds: Math.max(0, Math.round(oldest / 100) / 10) }
  })
}
