import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import { CodedError } from '../../process/coded-error.ts'
import type { Logger } from '../../process/log.ts'
import { messageOf } from '../../process/thrown.ts'
import { type Cause, type Sync, type Task, taskKey } from '../../schemas/task.ts'
import { type TaskIndex, type Tasks, taskRecord } from './task-table.ts'

/** False once the task is cancelled or another process runs it. */
export type IsOwned = () => boolean
/** The same, but may ask Kafka first. */
export type IsStillOwned = () => boolean | Promise<boolean>

/** Less than another process needs to take over from one that does not answer. */
const KNOWN_MS = 2_000

/**
 * A process that was paused may have lost its task without noticing. Another process may even have done the next task,
 * and further records would undo that. So this asks Kafka again when its last answer is too old.
 */
export function stillOwned(
  isOwned: IsOwned,
  table: Pick<Tasks['table'], 'caughtUp'>,
  now: () => number = () => performance.now(),
): () => Promise<boolean> {
  let knownAt = Number.NEGATIVE_INFINITY
  return async () => {
    const asked = now()
    if (asked - knownAt > KNOWN_MS) {
      await table.caughtUp()
      knownAt = asked
    }
    return isOwned()
  }
}

/**
 * May be called again after a crash.
 * @returns the ended task; undefined if this process lost it.
 * @throws TaskFailed if retrying is pointless. After other errors the task is retried.
 */
export type Perform = (task: Task, isOwned: IsOwned) => Promise<Task | undefined>

export type SchedulerParts = {
  tasks: Pick<Tasks, 'pending' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  perform: Perform
  owns: () => boolean
  /** Called when the end is written. Must not reject. */
  onEnded: (task: Task) => void | Promise<void>
  log: Pick<Logger, 'warn' | 'error'>
  /** Monotonic milliseconds. */
  now: () => number
}

const NO_BACKOFF: Backoff = { failures: 0, waited: 0, until: 0 }

/** Far more than anyone runs. Without a limit, 20,000 tasks at once stopped control for minutes. */
export const MAX_RUNNING = 1_000

/** Runs tasks in parallel, but one at a time in each queue. */
export function createScheduler(parts: SchedulerParts): {
  /** Call it often: nothing else starts a task. */
  startPending(): void
  running(): number
} {
  const { tasks, owns, now } = parts
  /** By task key. */
  const queueOfRunning = new Map<string, string>()
  const backoffs = new Map<string, Backoff>()

  function startPending(): void {
    if (!owns()) return
    const queues = new Set(queueOfRunning.values())
    for (const [key, task] of tasks.pending) {
      if (queueOfRunning.size >= MAX_RUNNING) return
      const queue = queueOf(task)
      if (queues.has(queue)) continue
      queues.add(queue)
      if ((backoffs.get(key)?.until ?? 0) <= now()) void begin(task)
    }
  }

  async function begin(task: Task): Promise<void> {
    const key = taskKey(task)
    queueOfRunning.set(key, queueOf(task))
    const backoff = backoffs.get(key) ?? NO_BACKOFF
    const next = await performOnce(task, backoff, parts)
    if (next) backoffs.set(key, next)
    else backoffs.delete(key)
    queueOfRunning.delete(key)
    startPending()
  }

  return { startPending, running: () => queueOfRunning.size }
}

/** @returns the wait after a failure. */
async function performOnce(
  task: Task,
  backoff: Backoff,
  parts: SchedulerParts,
): Promise<Backoff | undefined> {
  const { tasks, perform, owns, log, now } = parts
  const { kind, id } = task
  const isOwned = () => owns() && tasks.pending.has(taskKey(task))
  let isReached = false
  try {
    // another process may have finished it and later ones, which a repetition would undo
    await tasks.table.caughtUp()
    isReached = true
    // `task` may be of a write that failed and was decided again: only its newest record counts
    const current = tasks.pending.get(taskKey(task))
    if (!current || !owns()) return undefined
    const end = await perform(current, isOwned).catch((error: unknown) =>
      failed(current, causeOf(error, backoff)),
    )
    if (end) await writeEnd(end, parts)
    return undefined
  } catch (err) {
    log.warn({ err, kind, id }, 'a task failed and will be retried')
    // an outage of Kafka does not count
    return afterFailure(isReached ? backoff : NO_BACKOFF, now())
  }
}

/** @throws the error if a retry may help. */
function causeOf(error: unknown, { waited }: Backoff): Cause {
  if (error instanceof TaskFailed) return { code: error.code, message: error.message }
  if (waited < GIVE_UP_MS) throw error
  return { code: 'gave_up', message: messageOf(error) }
}

const failed = (task: Task, cause: Cause): Task =>
  task.kind === 'deletion'
    ? { ...task, state: 'failed', cause, userIds: [] }
    : { ...task, state: 'failed', cause }

async function writeEnd(end: Task, { tasks, taskWriter, onEnded, log }: SchedulerParts): Promise<void> {
  const ended: Task = { ...end, finishedAt: end.finishedAt ?? new Date().toISOString() }
  const written = await taskWriter.write(() =>
    tasks.pending.has(taskKey(end)) ? { records: [taskRecord(ended)] } : { refusal: 'it is over' },
  )
  if ('unavailable' in written) throw written.unavailable
  if (!written.ok) return
  const { kind, id, state, cause } = ended
  if (state === 'failed') log.error({ kind, id, cause }, 'a task has failed')
  await onEnded(ended)
}

/** Retrying cannot help. Clients see code and message. */
export class TaskFailed extends CodedError {
  override name = 'TaskFailed'
}

/** A sync builds on the one before. */
const queueOf = (task: Task) => (task.kind === 'sync' ? `${task.of.kind}/${task.of.id}` : taskKey(task))

export function runningSync(of: Sync['of'], { pending }: Pick<TaskIndex, 'pending'>): Sync | undefined {
  for (const task of pending.values())
    if (task.kind === 'sync' && task.of.kind === of.kind && task.of.id === of.id) return task
  return undefined
}

/** `waited`: in total. Times in ms. */
export type Backoff = { failures: number; waited: number; until: number }

const FIRST_MS = 1_000
const LONGEST_MS = 5 * 60_000
const GIVE_UP_MS = 6 * 3_600_000

function afterFailure({ failures, waited }: Pick<Backoff, 'failures' | 'waited'>, now: number): Backoff {
  const wait = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
  return { failures: failures + 1, waited: waited + wait, until: now + wait }
}
