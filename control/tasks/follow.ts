import type { Connection } from '../../kafka/client.ts'
import { openTable, type Table } from '../../kafka/table.ts'
import {
  type Deletion,
  type Progress,
  type Replay,
  type Sync,
  type Task,
  type TaskRecord,
  taskCodec,
  taskKey,
} from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'

/** What control does in the background, as this process knows it. */
export type Tasks = {
  /** Resolves when all that was there at the start has been read. */
  loaded: Promise<void>
  isLoaded(): boolean
  deletions: ReadonlyMap<string, Deletion>
  syncs: ReadonlyMap<string, Sync>
  replays: ReadonlyMap<string, Replay>
  progress: ReadonlyMap<string, Progress>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get'>
  close(): Promise<void>
}

export async function followTasks(connection: Connection, onFatal: (error: Error) => void): Promise<Tasks> {
  const known = {
    deletion: new Map<string, Deletion>(),
    sync: new Map<string, Sync>(),
    replay: new Map<string, Replay>(),
    progress: new Map<string, Progress>(),
  }

  function follow(key: string, value: Buffer | undefined): void {
    const task = value && read(value)
    // the map is that of its kind, which the compiler cannot see
    if (task) (known[task.kind] as Map<string, TaskRecord>).set(task.id, task)
    else connection.log.error({ key }, 'a task cannot be read; it is passed over')
  }

  const table = await openTable({ connection, topic: TASKS, onChange: follow, onFatal })
  return {
    loaded: table.loaded,
    isLoaded: table.isLoaded,
    deletions: known.deletion,
    syncs: known.sync,
    replays: known.replay,
    progress: known.progress,
    table,
    close: table.close,
  }
}

function read(value: Buffer): TaskRecord | undefined {
  const decoded = taskCodec.decode(value)
  return 'ok' in decoded && decoded.ok ? decoded.value : undefined
}

/** Whether the last that is known of a task says that nothing remains to be done for it. */
export function isDone(tasks: Pick<Tasks, 'table'>, task: Task): boolean {
  const last = tasks.table.get(taskKey(task))
  return (last ? read(last) : task)?.state !== 'accepted'
}
