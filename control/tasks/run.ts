import pRetry from 'p-retry'
import type { Handler, Taken } from '../../kafka/consume.ts'
import type { Logger } from '../../log.ts'
import type { Task, TaskRecord } from '../../schemas/task.ts'
import { isDone, type Tasks } from './follow.ts'

/** Asked now and then while a task runs: false when another process will go on with it. */
export type Owned = () => boolean

export type Running = {
  tasks: Pick<Tasks, 'table'>
  /** Does what remains to be done for a task, and writes that it is done. May be called again for the same task after a crash. */
  perform: (task: Task, owned: Owned) => Promise<void>
  log: Pick<Logger, 'warn'>
}

/** No longer than a process that ends may wait for what is in flight. */
const RETRY_MS = { minTimeout: 1_000, maxTimeout: 5_000 }

/** Each task is performed beside the others, and settled when it is done: a crash before that lets another process perform it anew. */
export function taskRunner(running: Running): Handler<TaskRecord> {
  return (record) => {
    const task = record.value
    // what tells how far a task is, or that it is done, comes through the same topic
    if (task.state !== 'accepted') record.settle()
    else void performed(task, record, running)
    return undefined
  }
}

async function performed(task: Task, record: Taken<unknown>, running: Running): Promise<void> {
  const { kind, id } = task
  try {
    await pRetry(() => unlessDone(task, record.owned, running), {
      ...RETRY_MS,
      retries: Number.POSITIVE_INFINITY,
      shouldRetry: record.owned,
      onFailedAttempt: ({ error: err }) =>
        running.log.warn({ err, kind, id }, 'a task failed; it is tried again'),
    })
  } catch {
    // given away, or the process ends
  }
  if (record.owned()) record.settle()
  else record.release()
}

/** Another process may have done it, and others after it: then it would undo what these have done. */
async function unlessDone(task: Task, owned: Owned, { tasks, perform }: Running): Promise<void> {
  await tasks.table.caughtUp()
  if (!isDone(tasks, task)) await perform(task, owned)
}
