import { countAck, watchProducer } from '../../kafka/metrics.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { createFencedWriter, type FencedWriter } from '../../kafka/produce/transactions.ts'
import { rangesByTime } from '../../kafka/tables/ranges.ts'
import type { Context } from '../../lifecycle.ts'
import { SCHEMA_WAIT_MS } from '../../schemas/codec.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import type { Task } from '../../schemas/task.ts'
import { DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import type { Settings } from '../../settings/follow.ts'
import { createSemaphore } from '../api/concurrency.ts'
import { openReaders, performSync, type Readers } from './audiences/perform.ts'
import { performDeletion } from './deletions/perform.ts'
import { performReplay } from './replays/perform.ts'
import type { ReplayRouteParts } from './replays/routes.ts'
import type { IsOwned } from './scheduler.ts'
import { followTasks, type Tasks } from './task-table.ts'
import { performTasks, watchTasks } from './worker.ts'

export type Background = {
  tasks: Tasks
  taskWriter: FencedWriter
  producer: Producer
  readerOf: Readers['readerOf']
  rangesOf: ReplayRouteParts['rangesOf']
  /** Starts pending tasks once they and the settings are loaded. Resolves when it has started. */
  start(): Promise<void>
}

type Parts = Pick<Context, 'config' | 'connection' | 'closing' | 'log' | 'tracer' | 'onFatal' | 'onAway'> & {
  settings: Settings
  writer: FencedWriter
}

/** Partitions compared at once. Each is in memory: about 20 MB for a million users in 12 partitions. */
const PARTITIONS_AT_ONCE = 3

/** What control does after it has responded. One process does all of it; another takes over when it ends. */
export async function openBackground(parts: Parts): Promise<Background> {
  const { config, connection, closing, tracer, onFatal, onAway, settings, writer } = parts
  const tasks = closing.adopt(await followTasks(connection, onFatal), (open) => open.close())
  const taskWriter = closing.adopt(
    createFencedWriter({ connection, transactionalId: 'control.tasks', table: tasks.table }),
    (open) => open.close(),
  )
  const producer = closing.adopt(await createProducer(connection, { onAck: countAck }), (open) =>
    open.close(),
  )
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
  const event = await openCodec(registry, 'event', `${connection.named(EVENTS)}-value`)
  const delivery = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const { readerOf } = closing.adopt(openReaders(connection, onFatal), (open) => open.close())
  const performing = {
    settings,
    writer,
    keys: config.configKeys,
    producer,
    encode: event.encode,
    readerOf,
    semaphore: createSemaphore(PARTITIONS_AT_ONCE),
  }
  const replaying = {
    connection,
    settings,
    producer,
    event,
    delivery,
    known: tasks,
    tracer,
    tasks: taskWriter,
    onFatal,
  }

  watchTasks(tasks)
  watchProducer(producer)

  function perform(task: Task, isOwned: IsOwned): Promise<Task | undefined> {
    switch (task.kind) {
      case 'deletion':
        return performDeletion(task, isOwned, performing)
      case 'sync':
        return performSync(task, isOwned, performing)
      case 'replay':
        return performReplay(task, isOwned, replaying)
    }
  }

  async function start(): Promise<void> {
    await Promise.all([settings.loaded, tasks.loaded])
    closing.adopt(await performTasks({ connection, tasks, taskWriter, perform, producer, onFatal }), (open) =>
      open.close(),
    )
  }

  const rangesOf: Background['rangesOf'] = (wanted) => rangesByTime(connection, wanted)
  return { tasks, taskWriter, producer, readerOf, rangesOf, start }
}
