import type { Connection } from '../../kafka/client.ts'
import { openTable, type Table } from '../../kafka/table.ts'
import { type Task, taskCodec } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'
import { createEndedSessions, type EndedSessions } from '../session/ended.ts'
import { createKnown, type Known } from './known.ts'

/** What control does in the background, as this process knows it. */
export type Tasks = Known & {
  /** Resolves when all that was there at the start has been read. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Calls back after each change; one at a time. */
  onChange(listener: () => void): void
  /** Of control's own sign-ins, which are in the same topic. */
  endedSessions: Pick<EndedSessions, 'has' | 'surplus'>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get' | 'supposing'>
  close(): Promise<void>
}

export async function followTasks(connection: Connection, onFatal: (error: Error) => void): Promise<Tasks> {
  const { apply, ...known } = createKnown()
  const endedSessions = createEndedSessions()
  let changed = () => {}

  function follow(key: string, value: Buffer | undefined): void {
    if (endedSessions.apply(key, value)) return
    const task = value && read(value)
    if (value && !task) connection.log.error({ key }, 'a task cannot be read; it is passed over')
    else apply(key, task)
    changed()
  }

  const table = await openTable({ connection, topic: TASKS, onChange: follow, onFatal })
  return {
    ...known,
    endedSessions,
    loaded: table.loaded,
    isLoaded: table.isLoaded,
    onChange(listener) {
      changed = listener
    },
    table,
    close: table.close,
  }
}

function read(value: Buffer): Task | undefined {
  const decoded = taskCodec.decode(value)
  return 'ok' in decoded && decoded.ok ? decoded.value : undefined
}
