import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../../kafka/client.ts'
import { type Consumer, consume } from '../../../kafka/consume/consume.ts'
import type { Producer } from '../../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import {
  openRangeGroup,
  type Range,
  type RangeGroup,
  removeRangeGroup,
} from '../../../kafka/tables/ranges.ts'
import { createTokenBucket } from '../../../process/token-bucket.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import { type Cause, type Replay, taskKey, topicOf } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Tracer } from '../../../trace/trace.ts'
import { ofDelivery } from '../../../trace/trace.ts'
import type { Readers } from '../audiences/perform.ts'
import { type IsOwned, TaskFailed } from '../scheduler.ts'
import { type Tasks, taskRecord } from '../task-table.ts'
import { eventReader } from './event-reader.ts'
import { type Facts, makeOfDelivery, makeOfEvent } from './make.ts'
import { type Counts, type Replaying, replayHandler } from './records.ts'

export type ReplayParts = {
  connection: Connection
  settings: Facts['settings'] & Pick<Settings, 'unreadable'>
  producer: Producer
  delivery: Codec<Delivery>
  event: Codec<Event>
  known: Pick<Tasks, 'pending' | 'replays'>
  tasks: Pick<FencedWriter, 'write'>
  tracer: Pick<Tracer, 'processLinked'> | undefined
  readerOf: Readers['readerOf']
  onFatal: (error: Error) => void
}

const POLL_MS = 250
const NOTE_MS = 2_000
/** Until a paused partition resumes, in ms. */
const WAIT_MS = 25
/** A burst, in ms of the rate. Covers a pause and that delay. */
const AT_ONCE_MS = 250

const groupOf = ({ id }: Pick<Replay, 'id'>) => `replay.${id}`

/**
 * Each replay has its own consumer group. Its commits let the replay continue after a crash. `forgetReplay` deletes the
 * group once the replay's end is written. If it did so earlier, a second run would start from the beginning.
 * @returns the ended replay; undefined if this process lost the task.
 * @throws if Kafka refuses or does not answer.
 */
export async function performReplay(
  replay: Replay,
  isOwned: IsOwned,
  parts: ReplayParts,
): Promise<Replay | undefined> {
  const { connection, known, settings } = parts
  const { destinationId, ranges, read, replayed, parked } = replay
  // retry later: without the destination, records would be replayed nowhere
  if (!settings.destinations.has(destinationId) && settings.unreadable.has(`destination/${destinationId}`))
    throw new Error(`the settings of destination ${destinationId} cannot be read`)
  const group = await openRangeGroup(connection, { group: groupOf(replay), topic: topicOf(replay), ranges })
  try {
    if (!(await group.isThere())) throw new TaskFailed('records_gone', GONE)
    await group.begin()
    const counts = { read, replayed, parked }
    const consumer = await startReading(replay, counts, parts)
    let cause: Cause | undefined
    try {
      cause = await readThrough({ replay, group, counts, isOwned }, parts)
    } finally {
      await consumer.close()
    }
    if (isOwned()) {
      const done = cause && (await group.through())
      return { ...replay, ...counts, ...(cause ? { state: 'cancelled', cause, done } : { state: 'done' }) }
    }
    if (!known.pending.has(taskKey(replay))) {
      await storeDone(replay, await group.through(), parts)
      await forgetReplay(replay, connection)
    }
    return undefined
  } finally {
    await group.close()
  }
}

/** Call it once the end is written. */
export const forgetReplay = (replay: Pick<Replay, 'id'>, connection: Connection): Promise<void> =>
  removeRangeGroup(connection, groupOf(replay))

const GONE = 'The topic no longer holds the records to replay: it was recreated'

function startReading(replay: Replay, counts: Counts, parts: ReplayParts): Promise<Consumer> {
  const { connection, producer, delivery, event, onFatal } = parts
  const { ranges, perSecond } = replay
  const burst = Math.max(1, (perSecond * AT_ONCE_MS) / 1_000)
  const replaying = {
    ranges,
    rate: createTokenBucket({ perSecond, burst }),
    counts,
    producer,
    encode: delivery.encode,
    traced: tracedIn(replay, parts),
  }
  const onParked = () => {
    counts.parked += 1
  }
  const topics = [topicOf(replay)]
  const group = groupOf(replay)
  const reading = { connection, group, topics, producer, onFatal, onParked, maxWaitMs: WAIT_MS }
  return replay.what === 'events'
    ? consume({
        ...reading,
        codec: event,
        handle: replayHandler({ ...replaying, make: makeOfEvent(replay, parts) }),
      })
    : consume({
        ...reading,
        codec: delivery,
        handle: replayHandler({
          ...replaying,
          make: makeOfDelivery(replay, {
            ...parts,
            replays: parts.known.replays,
            eventAt: eventReader(parts),
          }),
        }),
      })
}

/** Links to the trace that received the event or gave up the delivery. */
function tracedIn(replay: Replay, { connection, tracer }: ReplayParts): Replaying<unknown>['traced'] {
  if (!tracer) return undefined
  const topic = connection.named(topicOf(replay))
  const group = connection.named(groupOf(replay))
  return (of, delivery) => tracer.processLinked({ ...of, topic, group, describe: () => ofDelivery(delivery) })
}

type Reading = { replay: Replay; group: Pick<RangeGroup, 'isThrough'>; counts: Counts; isOwned: IsOwned }

/** Resolves once everything is read, the task is lost, or nothing more can be delivered. @returns why not. */
async function readThrough(
  { replay, group, counts, isOwned }: Reading,
  parts: ReplayParts,
): Promise<Cause | undefined> {
  let notedAt = performance.now()
  while (isOwned()) {
    const cause = blockingCause(replay, parts)
    if (cause || (await group.isThrough())) return cause
    await sleep(POLL_MS)
    if (performance.now() - notedAt < NOTE_MS) continue
    notedAt = performance.now()
    await storeProgress({ ...replay, ...counts }, parts)
  }
  return undefined
}

function blockingCause({ destinationId: id }: Replay, { settings }: ReplayParts): Cause | undefined {
  const destination = settings.destinations.get(id)
  if (!destination) return { code: 'unknown_destination', message: `Destination ${id} was removed` }
  if (destination.enabled) return undefined
  return { code: 'destination_disabled', message: `Destination ${id} was disabled` }
}

/** Later replays can skip what a cancelled one sent. */
async function storeDone(replay: Replay, done: Range[], { tasks, known }: ReplayParts): Promise<void> {
  const written = await tasks.write(() => {
    const ended = known.replays.get(replay.id)
    return ended?.state === 'cancelled'
      ? { records: [taskRecord({ ...ended, done })] }
      : { refusal: 'it was removed' }
  })
  if ('unavailable' in written) throw written.unavailable
}

async function storeProgress(replay: Replay, { tasks, known }: ReplayParts): Promise<void> {
  const written = await tasks.write(() =>
    known.pending.has(taskKey(replay)) ? { records: [taskRecord(replay)] } : { refusal: 'it is over' },
  )
  if ('unavailable' in written) throw written.unavailable
}
