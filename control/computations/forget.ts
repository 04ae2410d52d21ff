import { randomUUID } from 'node:crypto'
import type { Sync } from '../../schemas/task.ts'
import { taskRecord } from '../tasks/record.ts'
import type { SyncRouteParts } from './sync.ts'

/**
 * Has what is kept of the users of an audience or trait removed with it. Killed before that is written, they stay in the topic until
 * one is made again under the same id; they count as nobody's.
 */
export function forgetter(
  kind: Sync['of']['kind'],
  { taskWriter, log }: Pick<SyncRouteParts, 'taskWriter' | 'log'>,
): (id: string) => Promise<void> {
  return async (id) => {
    const createdAt = new Date().toISOString()
    const task: Sync = {
      kind: 'sync',
      id: randomUUID(),
      createdAt,
      state: 'accepted',
      of: { kind, id },
      others: 'forgotten',
      ranges: [],
      lines: 0,
    }
    const written = await taskWriter.write(() => ({ records: [taskRecord(task)] }))
    if ('unavailable' in written)
      log.warn({ err: written.unavailable, kind, id }, 'the users of what was removed may still be kept')
  }
}
