import { countAck, watchProducer } from '../../kafka/metrics.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { createFencedWriter, type FencedWriter } from '../../kafka/produce/transactions.ts'
import { rangesByTime } from '../../kafka/tables/ranges.ts'
import { type Context, close } from '../../lifecycle.ts'
import { SCHEMA_WAIT_MS } from '../../schemas/avro/writer-schemas.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import type { Task } from '../../schemas/task.ts'
import { DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import type { Settings } from '../../settings/follow.ts'
import { createSemaphore } from '../api/concurrency.ts'
import { openReaders, performSync, type Readers } from './audiences/perform.ts'
import { performDeletion } from './deletions/perform.ts'
import { type NoticeParts, sendNotices } from './notices/notices.ts'
import { forgetReplay, performReplay } from './replays/perform.ts'
import type { ReplayRouteParts } from './replays/routes.ts'
import { type Perform, stillOwned } from './scheduler.ts'
import { followTasks, type Tasks } from './task-table.ts'
import { runTasks, watchTasks } from './worker.ts'

export type Background = {
  tasks: Tasks
  taskWriter: FencedWriter
  producer: Producer
  readerOf: Readers['readerOf']
  rangesOf: ReplayRouteParts['rangesOf']
  /** Resolves once pending tasks have started. */
  start(activity: Pick<NoticeParts, 'attempts' | 'health'>): Promise<void>
}

type Parts = Pick<Context, 'config' | 'connection' | 'closing' | 'log' | 'tracer' | 'onFatal' | 'onAway'> & {
  settings: Settings
  writer: FencedWriter
}

/** Each is in memory: about 20 MB for a million users in 12 partitions. */
const PARTITIONS_AT_ONCE = 3

/** One process does all of it. If it ends, another takes over. */
export async function openBackground(parts: Parts): Promise<Background> {
  const { config, connection, closing, onFatal, onAway, settings } = parts
  const tasks = closing.adopt(await followTasks(connection, onFatal), close)
  const taskWriter = closing.adopt(
    createFencedWriter({ connection, transactionalId: 'control.tasks', table: tasks.table }),
    close,
  )
  const producer = closing.adopt(await createProducer(connection, { onAck: countAck }), (open) =>
    open.close(),
  )
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
  const event = await openCodec(registry, 'event', `${connection.named(EVENTS)}-value`)
  const delivery = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const { readerOf } = closing.adopt(openReaders(connection, onFatal), close)
  const perform = performer({ ...parts, tasks, taskWriter, producer, event, delivery, readerOf })
  const cleanUp = async (task: Task) => {
    if (task.kind === 'replay') await forgetReplay(task, connection)
  }

  watchTasks(tasks)
  watchProducer(producer)

  async function start(activity: Parameters<Background['start']>[0]): Promise<void> {
    await Promise.all([settings.loaded, tasks.loaded])
    const running = { connection, tasks, taskWriter, perform, cleanUp, producer, onFatal }
    const { owns } = closing.adopt(await runTasks(running), close)
    const noticing = { ...parts, ...activity, owns, tasks, taskWriter, producer, encode: event.encode }
    closing.adopt(sendNotices({ ...noticing, delayMs: config.noticeDelayMs }), close)
  }

  const rangesOf: Background['rangesOf'] = (request) => rangesByTime(connection, request)
  return { tasks, taskWriter, producer, readerOf, rangesOf, start }
}

type Performing = Parts & {
  tasks: Tasks
  taskWriter: FencedWriter
  producer: Producer
  event: Codec<Event>
  delivery: Codec<Delivery>
  readerOf: Readers['readerOf']
}

function performer(parts: Performing): Perform {
  const { config, event, tasks, taskWriter } = parts
  const semaphore = createSemaphore(PARTITIONS_AT_ONCE)
  const changing = { ...parts, keys: config.configKeys, encode: event.encode, semaphore }
  const replaying = { ...parts, known: tasks, tasks: taskWriter }
  return (task, isOwned) => {
    switch (task.kind) {
      case 'deletion':
        return performDeletion(task, stillOwned(isOwned, tasks.table), changing)
      case 'sync':
        return performSync(task, stillOwned(isOwned, tasks.table), changing)
      case 'replay':
        return performReplay(task, isOwned, replaying)
    }
  }
}
