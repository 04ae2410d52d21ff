import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Logger } from '../../process/log.ts'
import { type Cause, type Sync, type Task, taskKey } from '../../schemas/task.ts'
import type { TaskIndex, Tasks } from './task-table.ts'
import { taskRecord } from './task-table.ts'

/** Asked now and then while a task runs: false when another process will go on with it, or nobody wants it any more. */
export type IsOwned = () => boolean

/**
 * Does what remains to be done for a task. May be called again for the same task after a crash.
 * @returns the task as it has ended; undefined when it was not owned to the end.
 * @throws TaskFailed for what cannot pass; all else is tried again.
 */
export type Perform = (task: Task, isOwned: IsOwned) => Promise<Task | undefined>

export type Running = {
  tasks: Pick<Tasks, 'pending' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  perform: Perform
  /** Whether tasks are this process's to perform, now. */
  owns: () => boolean
  onEnded: (task: Task) => void
  log: Pick<Logger, 'warn' | 'error'>
  /** Milliseconds that only go up. */
  now: () => number
}

const NO_BACKOFF: Backoff = { failures: 0, waited: 0, until: 0 }

/** Performs what is undone, each task beside the others, but for those of its lane. */
export function createRunner(running: Running): {
  /** Begins what can be begun now. To be called often: nothing else begins anything. */
  look(): void
  underWay(): number
} {
  const { tasks, perform, owns, log, now } = running
  /** The lanes of those that are performed here, by key. */
  const underWay = new Map<string, string>()
  const backoffs = new Map<string, Backoff>()

  function look(): void {
    if (!owns()) return
    const queues = new Set(underWay.values())
    for (const [key, task] of tasks.pending) {
      const queue = queueOf(task)
      if (queues.has(queue)) continue
      queues.add(queue)
      if ((backoffs.get(key)?.until ?? 0) <= now()) void begin(task)
    }
  }

  async function begin(task: Task): Promise<void> {
    const key = taskKey(task)
    underWay.set(key, queueOf(task))
    const backoff = backoffs.get(key) ?? NO_BACKOFF
    const next = await once(task, backoff)
    if (next) backoffs.set(key, next)
    else backoffs.delete(key)
    underWay.delete(key)
    look()
  }

  /** @returns what trouble there is with it now. */
  async function once(task: Task, backoff: Backoff): Promise<Backoff | undefined> {
    const { kind, id } = task
    const isOwned = () => owns() && tasks.pending.has(taskKey(task))
    let isReached = false
    try {
      // another process may have done it, and others after it: then it would undo what these have done
      await tasks.table.caughtUp()
      isReached = true
      if (!isOwned()) return undefined
      const end = await perform(task, isOwned).catch((error: unknown) =>
        failed(task, causeOf(error, backoff)),
      )
      if (end) await conclude(end, running)
      return undefined
    } catch (err) {
      log.warn({ err, kind, id }, 'a task failed; it is tried again')
      // that Kafka is away is no fault of the task, however long it lasts
      return afterFailure(isReached ? backoff : NO_BACKOFF, now())
    }
  }

  return { look, underWay: () => underWay.size }
}

/** @throws the error itself when it may pass. */
function causeOf(error: unknown, { waited }: Backoff): Cause {
  if (error instanceof TaskFailed) return { code: error.code, message: error.message }
  if (waited < GIVE_UP_MS) throw error
  return { code: 'gave_up', message: error instanceof Error ? error.message : String(error) }
}

const failed = (task: Task, cause: Cause): Task =>
  task.kind === 'deletion'
    ? { ...task, state: 'failed', cause, userIds: [] }
    : { ...task, state: 'failed', cause }

/** Writes how a task has ended, unless somebody has ended it meanwhile. */
async function conclude(end: Task, { tasks, taskWriter, onEnded, log }: Running): Promise<void> {
  const ended: Task = { ...end, finishedAt: end.finishedAt ?? new Date().toISOString() }
  const written = await taskWriter.write(() =>
    tasks.pending.has(taskKey(end)) ? { records: [taskRecord(ended)] } : { refusal: 'it is over' },
  )
  if ('unavailable' in written) throw written.unavailable
  if (!written.ok) return
  const { kind, id, state, cause } = ended
  if (state === 'failed') log.error({ kind, id, cause }, 'a task has failed for good')
  onEnded(ended)
}

/** A task that cannot succeed however often it is tried: it ends as `failed` with this code and message, which clients are shown. */
export class TaskFailed extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'TaskFailed'
    this.code = code
  }
}

/** Tasks of one lane are performed one after the other: what an audience or trait is told of builds on what it was told before. */
export const queueOf = (task: Task) =>
  task.kind === 'sync' ? `${task.of.kind}/${task.of.id}` : taskKey(task)

/** The first sync of an audience or trait that is not over. */
export function runningSync(of: Sync['of'], { pending }: Pick<TaskIndex, 'pending'>): Sync | undefined {
  for (const task of pending.values())
    if (task.kind === 'sync' && task.of.kind === of.kind && task.of.id === of.id) return task
  return undefined
}

/** How it stands with a task that fails: how often it has, for how long it has waited in all, and until when it waits. In ms. */
export type Backoff = { failures: number; waited: number; until: number }

const FIRST_MS = 1_000
const LONGEST_MS = 5 * 60_000
/** Of waiting, over all tries: what has not passed by then does not pass by itself. */
export const GIVE_UP_MS = 6 * 3_600_000

/** Waits twice as long each time. */
export function afterFailure(
  { failures, waited }: Pick<Backoff, 'failures' | 'waited'>,
  now: number,
): Backoff {
  const wait = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
  return { failures: failures + 1, waited: waited + wait, until: now + wait }
}
