import { matching } from '../delivery/routing/routing.ts'
import {
  type ConsumerRecord,
  type Handler,
  holdFor,
  type Message,
  type RecordEnds,
} from '../kafka/consume/record.ts'
import { PUT_BACK } from '../kafka/produce/park.ts'
import type { Produced } from '../kafka/produce/produce.ts'
import type { Event } from '../schemas/event.ts'
import type { Settings } from '../settings/follow.ts'
import { type DeliveryWriterParts, hasBacklog, type Writing, writeDeliveries } from './deliveries.ts'
import type { Duplicates, PartitionWindow } from './duplicates/duplicates.ts'
import type { Written } from './duplicates/seen-topic.ts'
import { type Entry, hashOf } from './duplicates/window.ts'
import { createWaitingEvents } from './waiting-events.ts'

export type RouterParts = DeliveryWriterParts & {
  settings: Pick<Settings, 'destinationsOf' | 'isFresh' | 'sources'>
  duplicates: Pick<Duplicates, 'of'>
  /** Called when an event is held because the settings are outdated. */
  onBehind: () => void
  onRouted: (event: Event, deliveries: number) => void
  onDuplicate: (event: Event) => void
}

const HOLD_MS = 50

/**
 * An offset may be committed once Kafka has all deliveries. It also waits a limited time for the event's id in
 * `router.seen`, without which a duplicate passes after a restart.
 */
export function createRouter(parts: RouterParts): Handler<Event> {
  const { settings, producer, duplicates, slices, onBehind } = parts

  // with outdated settings an event could be settled as if it had no destination
  const isReady = ({ partition }: Pick<ConsumerRecord<Event>, 'partition'>) =>
    duplicates.of(partition) !== undefined && settings.isFresh() && !hasBacklog(producer)

  const route = (record: ConsumerRecord<Event>, message: Message) => routeEvent(record, message, parts)
  const waiting = createWaitingEvents({ slices, isReady, route })

  return (record, message) => {
    if (!isReady(record)) {
      if (!settings.isFresh()) onBehind()
      return holdFor(HOLD_MS)
    }
    const waits = waiting.add(record, message)
    if (waits === 'full') return holdFor(HOLD_MS)
    const routing = waits === 'no' ? route(record, message) : undefined
    if (routing) waiting.follow(record, routing)
    return
  }
}

/** @returns a promise if the rules take more than a slice. It never rejects. */
function routeEvent(
  record: ConsumerRecord<Event>,
  message: Message,
  parts: RouterParts,
): Promise<void> | undefined {
  const { settings, duplicates, onDuplicate } = parts
  const event = record.value
  const window = duplicates.of(record.partition)
  const entry = settings.sources.get(event.sourceId)?.dedup === 'off' ? undefined : entryOf(record)
  const isKnown = entry && window && !window.admit(entry)
  if (isKnown && message.headers?.[PUT_BACK] === undefined) {
    // the first event may still be in flight; the commit waits for it
    record.trace?.note({ 'sluice.outcome': 'duplicate' })
    onDuplicate(event)
    record.settle()
    return
  }
  const writes = writeDeliveries(record, matching(event, settings.destinationsOf(event.sourceId)), parts)
  const routed: Routed = { record, message, window, entry }
  if (!(writes instanceof Promise)) return settleLater(writes, routed, parts)
  return writes
    .then((written) => settleLater(written, routed, parts))
    .catch((error: unknown) => record.park(message, String(error)))
}

type Routed = {
  record: ConsumerRecord<Event>
  message: Message
  window: Pick<PartitionWindow, 'write'> | undefined
  entry: Entry | undefined
}

function settleLater(
  { count, writing }: Writing,
  { record, message, window, entry }: Routed,
  { onRouted }: Pick<RouterParts, 'onRouted'>,
): undefined {
  record.trace?.note({ 'sluice.outcome': 'routed', 'sluice.deliveries': count })
  onRouted(record.value, count)
  const { settle, release, park } = record
  const seen = window && entry ? window.write(entry) : notSeen
  void settleWhenWritten(writing, seen, { settle, release, park, message })
}

/** A producer's clock that is ahead must not make all other ids too old. */
function entryOf({
  value,
  offset,
  timestamp,
}: Pick<ConsumerRecord<Event>, 'value' | 'offset' | 'timestamp'>): Entry {
  return { ...hashOf(value), offset, time: Math.min(timestamp, Date.now()) }
}

/** For sources that keep their duplicates. */
const notSeen = async (): Promise<Written> => 'unwritten'

/**
 * `unknown` comes only at shutdown: the next owner routes the event again. Does not hold the event: thousands would
 * burden the garbage collector.
 */
async function settleWhenWritten(
  writing: Promise<Produced>,
  seen: () => Promise<Written>,
  { settle, release, park, message }: RecordEnds & { message: Message },
): Promise<void> {
  const produced = await writing
  const outcome = produced === 'acked' ? await seen() : produced
  if (outcome === 'acked' || outcome === 'unwritten') settle()
  else if (outcome === 'unknown') release()
  else park(message, `its deliveries cannot be written: ${outcome}`)
}
