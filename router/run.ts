import type { Handler, Message, Taken } from '../kafka/consume.ts'
import type { OutRecord, Produced, Producer } from '../kafka/produce.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import type { Settings } from '../schemas/follow.ts'
import { DELIVERIES } from '../schemas/topics.ts'
import { deliveryKey, route } from './route.ts'

export type RouterParts = {
  settings: Pick<Settings, 'destinationsOf' | 'isFresh'>
  codec: Pick<Codec<Delivery>, 'encode'>
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  /** Told of each routed event: how many deliveries it made. */
  onRouted: (event: Event, deliveries: number) => void
}

/** Above this much waiting for Kafka, partitions hold: in place of a refusal, which would break the order. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
const HOLD_MS = 50

/** Each event becomes its deliveries; its offset may be committed when Kafka has acknowledged all of them. */
export function router({ settings, codec, producer, onRouted }: RouterParts): Handler<Event> {
  return (record, message) => {
    // by old settings an event could be settled as nobody's whose destination is there already
    if (!settings.isFresh() || producer.queuedBytes() > MAX_QUEUED_BYTES)
      return { holdUntil: Date.now() + HOLD_MS }
    const event = record.value
    const deliveries = route(event, settings.destinationsOf(event.sourceId), Date.now())
    onRouted(event, deliveries.length)
    if (deliveries.length === 0) {
      record.settle()
      return
    }
    const records = deliveries.map((delivery): OutRecord => {
      return {
        topic: DELIVERIES,
        key: deliveryKey(delivery.destinationId, event),
        value: codec.encode(delivery),
      }
    })
    void producer.produce(records).then((outcome) => conclude(record, message, outcome))
    return
  }
}

/** `unknown` comes only at the end of the process: unsettled, the event is routed again by whoever reads it next. */
function conclude(record: Taken<Event>, message: Message, outcome: Produced): void {
  if (outcome === 'acked') record.settle()
  else if (outcome === 'unknown') record.release()
  else record.park(message, `its deliveries cannot be written: ${outcome}`)
}
