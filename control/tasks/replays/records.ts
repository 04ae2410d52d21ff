import { LRUCache } from 'lru-cache'
import { deliveryKey, deliveryOf, UNATTEMPTED, unmatched } from '../../../delivery/routing.ts'
import type { Handler, Message, Taken } from '../../../kafka/consume/record.ts'
import type { Produced } from '../../../kafka/produce/pending.ts'
import type { Producer } from '../../../kafka/produce/produce.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { TokenBucket } from '../../../process/token-bucket.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Replay } from '../../../schemas/task.ts'
import { DUE } from '../../../schemas/topics.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Processed, Trace } from '../../../trace/trace.ts'
import { letterOf } from '../../activity/dead/dead-letter.ts'
import { replayIndex, selectedBy } from '../../activity/dead/replayed.ts'
import type { Tasks } from '../task-table.ts'

export type Made = { delivery: Delivery; key: string }

export type Counts = Pick<Replay, 'read' | 'replayed' | 'parked'>

export type Replaying<T> = {
  ranges: readonly Range[]
  /** Makes a delivery of a record. @returns undefined if the record is skipped. */
  make: (record: Pick<Taken<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>) => Made | undefined
  rate: TokenBucket
  counts: Counts
  producer: Pick<Producer, 'produce'>
  encode: Codec<Delivery>['encode']
  /** Undefined while traces are off. */
  traced?: ((of: Pick<Processed, 'partition' | 'offset' | 'headers'>, made: Delivery) => Trace) | undefined
}

/** Pauses between bursts, because each resume costs a fetch. */
const REST_MS = 50
/** The partition has nothing left to read. */
const BEYOND_MS = 60_000

/**
 * Writes the deliveries of a range to the topic that retries use: first attempts have their own lane and do
 * not wait for them.
 */
export function replayHandler<T>(replaying: Replaying<T>): Handler<T> {
  const { ranges, make, rate, producer, encode, traced } = replaying
  const ends = new Map(ranges.map(({ partition, to }) => [partition, to]))
  return (record, message) => {
    const { partition, offset } = record
    if (offset >= (ends.get(partition) ?? 0)) return { holdUntil: Date.now() + BEYOND_MS }
    const made = make(record)
    if (!made) {
      markRead(record, replaying)
      return undefined
    }
    // monotonic, because a wall clock that is set back an hour would stop the replay for an hour
    const now = performance.now()
    if (!rate.allows(now)) return { holdUntil: Date.now() + REST_MS }
    rate.take(now)
    const value = encode(made.delivery)
    const trace = traced?.({ partition, offset, headers: message.headers }, made.delivery)
    void producer.produce([{ topic: DUE, key: made.key, value }], { trace }).then((outcome) => {
      trace?.end(outcome === 'acked' ? undefined : outcome)
      settleRecord({ record, message, outcome }, replaying)
    })
    return undefined
  }
}

function markRead<T>(record: Taken<T>, { counts }: Replaying<T>): void {
  counts.read += 1
  record.settle()
}

type Written<T> = { record: Taken<T>; message: Message; outcome: Produced }

/** `unknown` occurs only at shutdown: the next process makes the delivery again. */
function settleRecord<T>({ record, message, outcome }: Written<T>, replaying: Replaying<T>): void {
  if (outcome === 'unknown') record.release()
  else if (outcome === 'acked') {
    replaying.counts.replayed += 1
    markRead(record, replaying)
  } else record.park(message, `it cannot be replayed: ${outcome}`)
}

type Facts = { settings: Pick<Settings, 'destinations' | 'suppressedUsers'> }
type Read<T> = Pick<Taken<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>

/** About 20 MB. */
const MAX_REMEMBERED = 200_000

/**
 * The same delivery, without attempts (docs/guides/replay.md). Skips what the replay does not select. If a delivery
 * died several times, it is sent once.
 */
export function makeOfDelivery(replay: Replay, { settings, replays }: Facts & Pick<Tasks, 'replays'>) {
  const isSelected = selectedBy(replay)
  const replayOf = replay.skipReplayed ? replayIndex(replays.values(), replay) : undefined
  const firsts = new LRUCache<string, string>({ max: MAX_REMEMBERED })

  /** A record may be seen again after a pause. */
  function isFirst({ value: { deliveryId }, partition, offset }: Read<Delivery>): boolean {
    const place = `${partition}/${offset}`
    const first = firsts.get(deliveryId) ?? place
    firsts.set(deliveryId, first)
    return first === place
  }

  return (record: Read<Delivery>): Made | undefined => {
    const { key, value: dead } = record
    if (dead.destinationId !== replay.destinationId) return undefined
    const letter = letterOf(dead, record)
    if (!isSelected(letter) || replayOf?.(letter)) return undefined
    // the key of deliveries is destinationId/userKey
    if (isSuppressed({ ...dead, userId: key.slice(dead.destinationId.length + 1) }, settings))
      return undefined
    if (!isFirst(record)) return undefined
    return { delivery: { ...dead, ...UNATTEMPTED, routedAt: Date.now(), replay: true }, key }
  }
}

/**
 * What the router would make for the destination as it is now; nothing if the destination does not get the
 * event.
 */
export const makeOfEvent =
  (replay: Replay, { settings }: Facts) =>
  ({ value: event, timestamp }: Read<Event>): Made | undefined => {
    const destination = settings.destinations.get(replay.destinationId)
    if (!destination?.sourceIds.includes(event.sourceId) || !isWithin(timestamp, replay)) return undefined
    if (isSuppressed(event, settings)) return undefined
    if (unmatched(event, destination)) return undefined
    const delivery = deliveryOf(event, destination.id, Date.now())
    return {
      delivery: { ...delivery, replay: true, acceptedAt: null },
      key: deliveryKey(destination.id, event),
    }
  }

/** Times in a topic are not always ascending, so the offset of a time only says where to start. */
const isWithin = (timestamp: number, { from, to }: Replay) =>
  timestamp >= Date.parse(from) && timestamp < Date.parse(to)

/** Users suppressed since then get nothing but their deletion. */
const isSuppressed = (
  { type, sourceId, userId }: { type: string; sourceId: string; userId: string | null },
  settings: Facts['settings'],
) => type !== 'delete' && (settings.suppressedUsers(sourceId)?.has(userId ?? '') ?? false)
