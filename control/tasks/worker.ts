import { Counter, Gauge } from 'prom-client'
import type { Connection } from '../../kafka/client.ts'
import { type Consumer, consume } from '../../kafka/consume/consume.ts'
import { watchConsumers } from '../../kafka/metrics.ts'
import type { Producer } from '../../kafka/produce/produce.ts'
import { batchesOf } from '../../process/batches.ts'
import { registry } from '../../process/metrics.ts'
import type { Codec } from '../../schemas/codec.ts'
import { TASK_KINDS, type Task, taskKey } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'
import { type Pending, pendingByKind } from '../activity/lag/pending-tasks.ts'
import { endTombstone } from '../api/auth/sessions.ts'
import { createScheduler, type SchedulerParts } from './scheduler.ts'
import { type TaskIndex, type Tasks, tombstone } from './task-table.ts'

type Options = Pick<SchedulerParts, 'taskWriter' | 'perform'> & {
  connection: Connection
  tasks: Tasks
  producer: Producer
  /** Removes what only a running task needs, once its end is written. Must not reject. */
  cleanUp: (ended: Task) => Promise<void>
  onFatal: (error: Error) => void
}

/** The table decodes the tasks. */
const unread: Pick<Codec<undefined>, 'decode'> = { decode: () => ({ ok: true, value: undefined }) }
/** Only this one, even if someone adds others: two processes would run all tasks. */
const PARTITION = 0
/** Longest wait of a task after a rebalance. */
const CHECK_MS = 1_000
const REMOVE_EXPIRED_MS = 60_000
/** In one transaction, for which other writes wait. */
const AT_ONCE = 500

/**
 * Runs tasks while this process owns the partition of topic `tasks`. The topic's table says which are pending. Each
 * record is settled at once, so a long task delays no commits.
 */
export async function runTasks(options: Options): Promise<{ owns(): boolean; close(): Promise<void> }> {
  const { connection, tasks, producer, onFatal } = options
  let consumer: Consumer | undefined
  const owns = () => consumer?.owns(PARTITION) ?? false
  const now = () => performance.now()
  const { startPending, running } = createScheduler({
    ...options,
    owns,
    async onEnded(task) {
      countEnded(task)
      await options.cleanUp(task)
    },
    log: connection.log,
    now,
  })
  const opened = await consume({
    connection,
    group: 'control.tasks',
    topics: [TASKS],
    codec: unread,
    handle(record) {
      record.settle()
      return undefined
    },
    producer,
    onFatal,
    alsoInFlight: running,
  })
  consumer = opened
  watchConsumers([opened])
  let removeAt = 0
  tasks.onChange(startPending)
  const checking = setInterval(() => {
    startPending()
    if (!owns() || now() < removeAt) return
    removeAt = now() + REMOVE_EXPIRED_MS
    void removeExpired(options)
  }, CHECK_MS)
  return {
    owns,
    async close() {
      clearInterval(checking)
      await opened.close()
    },
  }
}

type Removing = Pick<Options, 'taskWriter'> & {
  tasks: TaskIndex & { endedSessions: Pick<Tasks['endedSessions'], 'expired'> }
}

/** If Kafka does not answer, the next run continues. */
export async function removeExpired({ tasks, taskWriter }: Removing): Promise<void> {
  const old = expired(tasks, Date.now())
  for (const some of batchesOf(old, AT_ONCE)) {
    const written = await taskWriter.write(() => {
      // a new one may have the id of one that another process removed
      const records = some.filter((task) => !tasks.pending.has(taskKey(task))).map(tombstone)
      return records.length > 0 ? { records } : { refusal: 'nothing is left of them' }
    })
    if ('unavailable' in written) return
  }
  const over = (now: number) => tasks.endedSessions.expired(now).slice(0, AT_ONCE)
  if (over(Date.now()).length === 0) return
  await taskWriter.write(() => {
    // a clock that was wrong while Kafka was away may be right now
    const now = Date.now()
    const records = over(now).map((id) => endTombstone(id, now))
    return records.length > 0 ? { records } : { refusal: 'none has expired' }
  })
}

/** Retention, and the maximum number per kind. Clients ask about tasks much earlier. */
const KEPT_MS = 30 * 24 * 3_600_000
export const MAX_COUNT = 10_000

/** @param now ms since 1970. */
export function expired({ deletions, syncs, replays }: TaskIndex, now: number): Task[] {
  return [deletions, syncs, replays]
    .flatMap((all) => {
      const over = [...all.values()]
        .filter(({ state }) => state !== 'accepted')
        .map((task) => ({ task, at: Date.parse(task.finishedAt ?? task.createdAt) }))
        .toSorted((one, other) => one.at - other.at)
      return over.filter(({ at }, index) => index < over.length - MAX_COUNT || at < now - KEPT_MS)
    })
    .map(({ task }) => task)
}

const registers = [registry]

export function watchTasks(known: Pending): void {
  new Gauge({
    name: 'sluice_control_tasks',
    help: 'Unfinished deletions, syncs and replays, by kind.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, count } of pendingByKind(known, Date.now())) this.set({ kind }, count)
    },
  })
  new Gauge({
    name: 'sluice_control_tasks_oldest_seconds',
    help: 'Age of the oldest unfinished task, by kind; 0 if there is none.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, oldestSeconds } of pendingByKind(known, Date.now()))
        this.set({ kind }, oldestSeconds)
    },
  })
}

const ended = new Counter({
  name: 'sluice_control_tasks_ended_total',
  help: 'Tasks that this process has ended, by kind and state (done, cancelled or failed).',
  labelNames: ['kind', 'state'],
  registers,
})

// a rate needs an initial value
for (const kind of TASK_KINDS)
  for (const state of ['done', 'cancelled', 'failed']) ended.inc({ kind, state }, 0)

const countEnded = ({ kind, state }: Task) => ended.inc({ kind, state })
