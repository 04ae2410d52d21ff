import { type Sync, type Task, taskKey } from '../../schemas/task.ts'
import type { Known } from './known.ts'

/** Tasks of one lane are performed one after the other: what an audience or trait is told of builds on what it was told before. */
export const laneOf = (task: Task) => (task.kind === 'sync' ? `${task.of.kind}/${task.of.id}` : taskKey(task))

/** The first sync of an audience or trait that is not over. */
export function runningSync(of: Sync['of'], { undone }: Pick<Known, 'undone'>): Sync | undefined {
  for (const task of undone.values())
    if (task.kind === 'sync' && task.of.kind === of.kind && task.of.id === of.id) return task
  return undefined
}
