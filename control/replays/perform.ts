import { setTimeout as sleep } from 'node:timers/promises'
import { createPace } from '../../deliverer/lane/pace.ts'
import type { Connection } from '../../kafka/client.ts'
import { type Consumer, consume } from '../../kafka/consume.ts'
import type { FencedWriter } from '../../kafka/fenced.ts'
import type { Producer } from '../../kafka/produce.ts'
import { openRangeGroup, type RangeGroup } from '../../kafka/ranges.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import type { Settings } from '../../schemas/follow.ts'
import type { Replay, TaskRecord } from '../../schemas/task.ts'
import { isDone, type Tasks } from '../tasks/follow.ts'
import { taskRecord } from '../tasks/record.ts'
import type { Owned } from '../tasks/run.ts'
import { type Counts, REST_MS, replayer } from './handler.ts'
import { makeOfDead, makeOfEvent, topicOf } from './make.ts'
import { createTally, type Tally } from './tally.ts'

export type ReplayParts = {
  connection: Connection
  settings: Pick<Settings, 'destinations' | 'suppressedUsers'>
  producer: Producer
  delivery: Codec<Delivery>
  event: Codec<Event>
  known: Pick<Tasks, 'table' | 'progress'>
  tasks: Pick<FencedWriter, 'write'>
  onFatal: (error: Error) => void
}

const LOOK_MS = 100
const NOTE_MS = 2_000

/**
 * Reads what a replay names, with a consumer group of its own: its commits say where a crash leaves it.
 * @throws when Kafka refuses or does not answer.
 */
export async function performReplay(replay: Replay, owned: Owned, parts: ReplayParts): Promise<void> {
  const { connection, known } = parts
  const { id, ranges } = replay
  const group = await openRangeGroup(connection, { group: `replay.${id}`, topic: topicOf(replay), ranges })
  try {
    const tally = createTally(ranges, await group.begin())
    const { read = 0, replayed = 0 } = known.progress.get(id) ?? {}
    const counts = { read, replayed }
    const consumer = await startReading(replay, { tally, counts }, parts)
    try {
      await complete({ replay, tally, group, counts, owned }, parts)
    } finally {
      await consumer.close()
    }
    if (!owned()) return
    await note(replay, counts, parts)
    await conclude(replay, tally, parts)
    await group.remove()
  } finally {
    await group.close()
  }
}

/** As fast as it is asked to be, whatever there is to read. */
function startReading(
  replay: Replay,
  { tally, counts }: { tally: Tally; counts: Counts },
  parts: ReplayParts,
): Promise<Consumer> {
  const { connection, producer, delivery, event, onFatal } = parts
  const { id, ranges, perSecond } = replay
  const pace = createPace({ perMs: perSecond / 1_000, atOnce: Math.max(1, (perSecond / 1_000) * REST_MS) })
  const replaying = { ranges, pace, tally, counts, producer, encode: delivery.encode }
  const reading = { connection, group: `replay.${id}`, topics: [topicOf(replay)], producer, onFatal }
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

type Running = { replay: Replay; tally: Tally; group: RangeGroup; counts: Counts; owned: Owned }

/** Resolves when all is read, when nobody wants it any more, or when another process will go on with it. */
async function complete({ replay, tally, group, counts, owned }: Running, parts: ReplayParts): Promise<void> {
  let notedAt = performance.now()
  while (owned() && isWanted(replay, parts) && !tally.isComplete()) {
    await sleep(LOOK_MS)
    if (performance.now() - notedAt < NOTE_MS) continue
    notedAt = performance.now()
    tally.deleted(await group.lows())
    await note(replay, counts, parts)
  }
}

/** Not when it was cancelled, or what it is for removed. */
const isWanted = (replay: Replay, { known, settings }: ReplayParts) =>
  !isDone(known, replay) && settings.destinations.has(replay.destinationId)

const note = ({ id, createdAt }: Replay, counts: Counts, parts: ReplayParts) =>
  write({ kind: 'progress', id, createdAt, state: 'noted', ...counts }, parts)

async function conclude(replay: Replay, tally: Tally, parts: ReplayParts): Promise<void> {
  if (isDone(parts.known, replay)) return
  const state = tally.isComplete() ? 'done' : 'cancelled'
  await write({ ...replay, state, finishedAt: new Date().toISOString() }, parts)
}

async function write(record: TaskRecord, { tasks }: ReplayParts): Promise<void> {
  const written = await tasks.write(() => ({ records: [taskRecord(record)] }))
  if ('unavailable' in written) throw written.unavailable
}
