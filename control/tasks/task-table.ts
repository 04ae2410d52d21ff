import { randomUUID } from 'node:crypto'
import type { Connection } from '../../kafka/client.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { openTable, type Table } from '../../kafka/tables/table.ts'
import { type Deletion, type Replay, type Sync, type Task, taskCodec, taskKey } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'
import { createEndedSessions, type EndedSessions } from '../api/auth/sessions.ts'
import { type Announced, createAnnounced } from './notices/announced.ts'

export type Tasks = TaskIndex & {
  loaded: Promise<void>
  isLoaded(): boolean
  /** Holds one listener. */
  onChange(listener: () => void): void
  endedSessions: Pick<EndedSessions, 'has' | 'expired'>
  announced: Announced['states']
  table: Pick<Table, 'caughtUp' | 'reached' | 'onRead' | 'supposing'>
  close(): Promise<void>
}

/** Characters of a key in the log. A forged key may have 1 MB. */
const SHOWN = 200

export async function followTasks(connection: Connection, onFatal: (error: Error) => void): Promise<Tasks> {
  const { apply, ...known } = createTaskIndex()
  const endedSessions = createEndedSessions()
  const announced = createAnnounced()
  let changed = () => {}

  function follow(key: string, value: Buffer | undefined): void {
    if (endedSessions.apply(key, value) || announced.apply(key, value)) return
    const task = value && read(key, value)
    if (value && !task)
      connection.log.error({ key: key.slice(0, SHOWN) }, 'skipping a task that cannot be read')
    else apply(key, task)
    changed()
  }

  const table = await openTable({ connection, topic: TASKS, onChange: follow, onFatal })
  return {
    ...known,
    endedSessions,
    announced: announced.states,
    loaded: table.loaded,
    isLoaded: table.isLoaded,
    onChange(listener) {
      changed = listener
    },
    table: { ...table, supposing: (work) => endedSessions.supposing(() => table.supposing(work)) },
    close: table.close,
  }
}

/** A task under another key would start again and again: its end is written under its own. */
function read(key: string, value: Buffer): Task | undefined {
  const decoded = taskCodec.decode(value)
  return 'ok' in decoded && decoded.ok && taskKey(decoded.value) === key ? decoded.value : undefined
}

/** The latest record of each task. */
export type TaskIndex = {
  deletions: ReadonlyMap<string, Deletion>
  syncs: ReadonlyMap<string, Sync>
  replays: ReadonlyMap<string, Replay>
  /** By key, in the order they were accepted. */
  pending: ReadonlyMap<string, Task>
}

export function createTaskIndex(): TaskIndex & {
  /** @param task undefined: it was removed. */
  apply(key: string, task: Task | undefined): void
} {
  const deletions = new Map<string, Deletion>()
  const syncs = new Map<string, Sync>()
  const replays = new Map<string, Replay>()
  const pending = new Map<string, Task>()

  function put(task: Task): void {
    if (task.kind === 'deletion') deletions.set(task.id, task)
    else if (task.kind === 'sync') syncs.set(task.id, task)
    else replays.set(task.id, task)
  }

  return {
    deletions,
    syncs,
    replays,
    pending,
    apply(key, task) {
      if (task?.state === 'accepted') pending.set(key, task)
      else pending.delete(key)
      if (task) put(task)
      else for (const all of [deletions, syncs, replays]) forget(all, key)
    },
  }
}

function forget(all: Map<string, Task>, key: string): void {
  const task = all.get(key.slice(key.indexOf('/') + 1))
  if (task && taskKey(task) === key) all.delete(task.id)
}

/** Each record is unique, so a writer can recognize its own after a failure (kafka/produce/transactions.ts). */
export function taskRecord(task: Task): OutRecord {
  const unique = { ...task, nonce: randomUUID() }
  return { topic: TASKS, key: taskKey(task), value: taskCodec.encode(unique) }
}

export const tombstone = (task: Task): OutRecord => ({ topic: TASKS, key: taskKey(task), value: null })
