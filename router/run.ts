import { matching } from '../delivery/routing.ts'
import type { Ends, Handler, Message, Taken } from '../kafka/consume/record.ts'
import type { Produced } from '../kafka/produce/pending.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Event } from '../schemas/event.ts'
import type { Settings } from '../settings/follow.ts'
import { type DeliveryWriterParts, writeDeliveries } from './deliveries.ts'
import type { Duplicates } from './duplicates/duplicates.ts'
import type { Written } from './duplicates/seen-topic.ts'
import { type Entry, hashOf } from './duplicates/window.ts'

export type RouterParts = DeliveryWriterParts & {
  settings: Pick<Settings, 'destinationsOf' | 'isFresh' | 'sources'>
  producer: DeliveryWriterParts['producer'] & Pick<Producer, 'queuedBytes'>
  duplicates: Pick<Duplicates, 'of'>
  onRouted: (event: Event, deliveries: number) => void
  onDuplicate: (event: Event) => void
}

/** Partitions are held while more than this waits for Kafka. Refusing records would break their order. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
const HOLD_MS = 50

/**
 * Turns each event into its deliveries: check for duplicates, match, write, settle. An offset may be committed once
 * Kafka has all deliveries and, for a limited time, the event's id in `router.seen`. Without the id, a duplicate passes
 * after a restart.
 */
export function createRouter(parts: RouterParts): Handler<Event> {
  const { settings, producer, duplicates, onRouted, onDuplicate } = parts

  return (record, message) => {
    const window = duplicates.of(record.partition)
    // with outdated settings an event could be settled as if it had no destination
    if (!window || !settings.isFresh() || producer.queuedBytes() > MAX_QUEUED_BYTES)
      return { holdUntil: Date.now() + HOLD_MS }
    const event = record.value
    const entry = settings.sources.get(event.sourceId)?.dedup === 'off' ? undefined : entryOf(record)
    if (entry && !window.admit(entry)) {
      // the first event may still be in flight; the commit waits for it
      record.trace?.note({ 'sluice.outcome': 'duplicate' })
      onDuplicate(event)
      record.settle()
      return
    }
    const matched = matching(event, settings.destinationsOf(event.sourceId))
    const { count, writing } = writeDeliveries(record, matched, parts)
    record.trace?.note({ 'sluice.outcome': 'routed', 'sluice.deliveries': count })
    onRouted(event, count)
    const { settle, release, park } = record
    void settleWhenWritten(writing, entry ? window.write(entry) : notSeen, { settle, release, park, message })
    return
  }
}

/** A producer's clock that is ahead must not make all other ids too old. */
function entryOf({ value, offset, timestamp }: Pick<Taken<Event>, 'value' | 'offset' | 'timestamp'>): Entry {
  return { ...hashOf(value), offset, time: Math.min(timestamp, Date.now()) }
}

/** For sources that keep their duplicates. */
const notSeen = async (): Promise<Written> => 'unwritten'

/**
 * `unknown` comes only at shutdown: the next owner routes the event again. Does not hold the event, as thousands wait
 * and the garbage collector copies them.
 */
async function settleWhenWritten(
  writing: Promise<Produced>,
  seen: () => Promise<Written>,
  { settle, release, park, message }: Ends & { message: Message },
): Promise<void> {
  const produced = await writing
  const outcome = produced === 'acked' ? await seen() : produced
  if (outcome === 'acked' || outcome === 'unwritten') settle()
  else if (outcome === 'unknown') release()
  else park(message, `its deliveries cannot be written: ${outcome}`)
}
