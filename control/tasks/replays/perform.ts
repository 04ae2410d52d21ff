import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../../kafka/client.ts'
import { type Consumer, consume } from '../../../kafka/consume/consume.ts'
import type { Producer } from '../../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { openRangeGroup, type RangeGroup } from '../../../kafka/tables/ranges.ts'
import { createTokenBucket } from '../../../process/token-bucket.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import { type Cause, type Replay, taskKey } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import { ofDelivery } from '../../../trace/describe.ts'
import type { Tracer } from '../../../trace/trace.ts'
import { type IsOwned, TaskFailed } from '../scheduler.ts'
import type { Tasks } from '../task-table.ts'
import { taskRecord } from '../task-table.ts'
import { type Counts, makeOfDead, makeOfEvent, type Replaying, replayer, topicOf } from './records.ts'

export type ReplayParts = {
  connection: Connection
  settings: Pick<Settings, 'destinations' | 'unreadable' | 'suppressedUsers'>
  producer: Producer
  delivery: Codec<Delivery>
  event: Codec<Event>
  known: Pick<Tasks, 'pending'>
  tasks: Pick<FencedWriter, 'write'>
  tracer: Pick<Tracer, 'processAnew'> | undefined
  onFatal: (error: Error) => void
}

const LOOK_MS = 250
const NOTE_MS = 2_000
/** How late a partition notices that its rest is over. */
const WAIT_MS = 25
/** What may be made up for at once: longer than a rest and that wait, or a replay would be slower than it was asked to be. */
const AT_ONCE_MS = 250

/**
 * Reads what a replay names, with a consumer group of its own: its commits say how far it is, also after a crash.
 * @throws when Kafka refuses or does not answer.
 */
export async function performReplay(
  replay: Replay,
  isOwned: IsOwned,
  parts: ReplayParts,
): Promise<Replay | undefined> {
  const { connection, known, settings } = parts
  const { id, destinationId, ranges, read, replayed, parked } = replay
  // it is tried again: what is read meanwhile would be replayed to nobody
  if (!settings.destinations.has(destinationId) && settings.unreadable.has(`destination/${destinationId}`))
    throw new Error(`the settings of destination ${destinationId} cannot be read`)
  const group = await openRangeGroup(connection, { group: `replay.${id}`, topic: topicOf(replay), ranges })
  try {
    if (!(await group.isThere())) throw new TaskFailed('records_gone', GONE)
    await group.begin()
    const counts = { read, replayed, parked }
    const consumer = await startReading(replay, counts, parts)
    let cause: Cause | undefined
    try {
      cause = await through({ replay, group, counts, isOwned }, parts)
    } finally {
      await consumer.close()
    }
    if (isOwned()) {
      await group.remove()
      return { ...replay, ...counts, ...(cause ? { state: 'cancelled', cause } : { state: 'done' }) }
    }
    if (!known.pending.has(taskKey(replay))) await group.remove()
    return undefined
  } finally {
    await group.close()
  }
}

const GONE = 'The topic does not hold the records that are to be replayed: it was made anew'

/** As fast as it is asked to be, whatever there is to read. */
function startReading(replay: Replay, counts: Counts, parts: ReplayParts): Promise<Consumer> {
  const { connection, producer, delivery, event, onFatal } = parts
  const { id, ranges, perSecond } = replay
  const burst = Math.max(1, (perSecond * AT_ONCE_MS) / 1_000)
  const replaying = {
    ranges,
    mayMake: createTokenBucket({ perSecond, burst }),
    counts,
    producer,
    encode: delivery.encode,
    traced: tracedIn(replay, parts),
  }
  const onParked = () => {
    counts.parked += 1
  }
  const topics = [topicOf(replay)]
  const group = `replay.${id}`
  const reading = { connection, group, topics, producer, onFatal, onParked, maxWaitMs: WAIT_MS }
  return replay.what === 'dead'
    ? consume({
        ...reading,
        codec: delivery,
        handle: replayer({ ...replaying, make: makeOfDead(replay, parts) }),
      })
    : consume({
        ...reading,
        codec: event,
        handle: replayer({ ...replaying, make: makeOfEvent(replay, parts) }),
      })
}

/** A trace of its own, with a link to the one in which the delivery was given up or the event came in. */
function tracedIn(replay: Replay, { connection, tracer }: ReplayParts): Replaying<unknown>['traced'] {
  if (!tracer) return undefined
  const topic = connection.named(topicOf(replay))
  const group = connection.named(`replay.${replay.id}`)
  return (of, delivery) => tracer.processAnew({ ...of, topic, group, describe: () => ofDelivery(delivery) })
}

type Reading = { replay: Replay; group: Pick<RangeGroup, 'isThrough'>; counts: Counts; isOwned: IsOwned }

/**
 * Resolves when all is read, when it is not owned any more, or when nothing can be delivered any more.
 * @returns why that is.
 */
async function through(
  { replay, group, counts, isOwned }: Reading,
  parts: ReplayParts,
): Promise<Cause | undefined> {
  let notedAt = performance.now()
  while (isOwned()) {
    const cause = hindrance(replay, parts)
    if (cause || (await group.isThrough())) return cause
    await sleep(LOOK_MS)
    if (performance.now() - notedAt < NOTE_MS) continue
    notedAt = performance.now()
    await note({ ...replay, ...counts }, parts)
  }
  return undefined
}

/** What makes a request for this replay be refused now. */
function hindrance({ destinationId: id }: Replay, { settings }: ReplayParts): Cause | undefined {
  const destination = settings.destinations.get(id)
  if (!destination) return { code: 'unknown_destination', message: `Destination ${id} was removed` }
  if (destination.enabled) return undefined
  return { code: 'destination_disabled', message: `Destination ${id} was switched off` }
}

/** Writes how far it is, unless it is over. */
async function note(replay: Replay, { tasks, known }: ReplayParts): Promise<void> {
  const written = await tasks.write(() =>
    known.pending.has(taskKey(replay)) ? { records: [taskRecord(replay)] } : { refusal: 'it is over' },
  )
  if ('unavailable' in written) throw written.unavailable
}
