import { deliveryKey, deliveryOf, idsOf, matching } from '../delivery/routing.ts'
import type { Ends, Handler, Message, Taken } from '../kafka/consume/record.ts'
import type { Produced } from '../kafka/produce/pending.ts'
import type { Producer, RecordList } from '../kafka/produce/produce.ts'
import type { VariantCodec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import { DELIVERIES } from '../schemas/topics.ts'
import type { Settings } from '../settings/follow.ts'
import type { Outline } from '../settings/lookup.ts'
import type { Trace } from '../trace/trace.ts'
import type { Duplicates } from './duplicates/duplicates.ts'
import type { Written } from './duplicates/seen.ts'
import { type Entry, hashOf } from './duplicates/window.ts'

export type RouterParts = {
  settings: Pick<Settings, 'destinationsOf' | 'isFresh' | 'sources'>
  codec: Pick<VariantCodec<Delivery>, 'encode' | 'encodeVariants'>
  producer: Pick<Producer, 'produce' | 'produceList' | 'queuedBytes'>
  duplicates: Pick<Duplicates, 'of'>
  /** Told of each routed event: how many deliveries it made. */
  onRouted: (event: Event, deliveries: number) => void
  onDuplicate: (event: Event) => void
}

/** Above this much waiting for Kafka, partitions hold: in place of a refusal, which would break the order. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
const HOLD_MS = 50

/**
 * Each event becomes its deliveries; its offset may be committed when Kafka has acknowledged all of them. Before that the router waits for its
 * id to be in `router.seen`, for a bounded time: else a duplicate behind the commit would pass after a restart.
 */
export function router(parts: RouterParts): Handler<Event> {
  const { settings, codec, producer, duplicates, onRouted, onDuplicate } = parts

  /**
   * A delivery for each destination. Several have the body in common, which waits once: of 32 KB for 10,000 destinations it would
   * take 320 MB. The event does not wait with it.
   */
  function write(
    event: Event,
    destinations: readonly Outline[],
    trace: Trace | undefined,
  ): Promise<Produced> {
    const [first] = destinations
    const options = { trace, flow: event.sourceId }
    if (!first) return producer.produce([], options)
    const delivery = deliveryOf(event, first.id, Date.now())
    if (destinations.length > 1)
      return producer.produceList(listOf(event, { destinations, delivery, codec }), options)
    const record = { topic: DELIVERIES, key: deliveryKey(first.id, event), value: codec.encode(delivery) }
    return producer.produce([record], options)
  }

  return (record, message) => {
    const remembered = duplicates.of(record.partition)
    // by old settings an event could be settled as nobody's whose destination is there already
    if (!remembered || !settings.isFresh() || producer.queuedBytes() > MAX_QUEUED_BYTES)
      return { holdUntil: Date.now() + HOLD_MS }
    const event = record.value
    const entry = settings.sources.get(event.sourceId)?.dedup === 'off' ? undefined : entryOf(record)
    if (entry && !remembered.admit(entry)) {
      // its first may still be in flight: the commit waits for that one
      record.trace?.note({ 'sluice.outcome': 'duplicate' })
      onDuplicate(event)
      record.settle()
      return
    }
    const destinations = matching(event, settings.destinationsOf(event.sourceId))
    record.trace?.note({ 'sluice.outcome': 'routed', 'sluice.deliveries': destinations.length })
    onRouted(event, destinations.length)
    const { settle, release, park } = record
    const making = write(event, destinations, record.trace)
    void conclude({ settle, release, park }, message, making, entry ? remembered.write(entry) : unneeded)
    return
  }
}

/** A producer's clock that is ahead must not make all other ids too old. */
function entryOf({ value, offset, timestamp }: Pick<Taken<Event>, 'value' | 'offset' | 'timestamp'>): Entry {
  return { ...hashOf(value), offset, time: Math.min(timestamp, Date.now()) }
}

/** Of an event whose source keeps its duplicates. */
const unneeded = async (): Promise<Written> => 'unwritten'

/**
 * `unknown` comes only at the end of the process: unsettled, the event is routed again by whoever reads it next. Without the event itself:
 * thousands wait at a time, and what waits is copied by the garbage collector.
 */
async function conclude(
  ends: Ends,
  message: Message,
  making: Promise<Produced>,
  written: () => Promise<Written>,
): Promise<void> {
  const made = await making
  const outcome = made === 'acked' ? await written() : made
  if (outcome === 'acked' || outcome === 'unwritten') ends.settle()
  else if (outcome === 'unknown') ends.release()
  else ends.park(message, `its deliveries cannot be written: ${outcome}`)
}

type Alike = { destinations: readonly Outline[]; delivery: Delivery; codec: RouterParts['codec'] }

/** @param delivery that for the first destination: the others differ from it in their ids alone. */
function listOf(event: Event, { destinations, delivery, codec }: Alike): RecordList {
  const { userId, anonymousId, messageId, sourceId } = event
  const ids = { userId, anonymousId, messageId, sourceId }
  const { encoded, another } = codec.encodeVariants(delivery, 'type')
  return {
    count: destinations.length,
    record(place) {
      const { id } = destinations[place] as Outline
      const value = place === 0 ? encoded : another(idsOf(ids, id))
      return { topic: DELIVERIES, key: deliveryKey(id, ids), value }
    },
  }
}
