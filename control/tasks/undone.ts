import { z } from 'zod'
import type { Task } from '../../schemas/task.ts'
import type { Known } from './known.ts'

export const KINDS = ['deletion', 'sync', 'replay'] as const satisfies readonly Task['kind'][]

/** What waits to be done, or is being done. */
export const undoneShape = z
  .strictObject({
    kind: z.enum(KINDS),
    count: z.number().int().nonnegative().describe('Those that are not over.'),
    oldestSeconds: z.number().describe('How long ago the oldest of them was accepted; 0: there are none.'),
  })
  .meta({ id: 'Undone' })

/** By kind. @param now ms since 1970. */
export function undoneByKind({ undone }: Pick<Known, 'undone'>, now: number): z.infer<typeof undoneShape>[] {
  return KINDS.map((kind) => {
    const times = [...undone.values()]
      .filter((task) => task.kind === kind)
      .map(({ createdAt }) => Date.parse(createdAt))
    const oldest = times.length > 0 ? now - Math.min(...times) : 0
    return { kind, count: times.length, oldestSeconds: Math.max(0, Math.round(oldest / 100) / 10) }
  })
}
