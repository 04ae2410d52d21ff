import { applyRules, type Ruled } from '../delivery/apply-rules.ts'
import { deliveryKey, deliveryOf, idsOf, type Matching } from '../delivery/routing.ts'
import type { Taken } from '../kafka/consume/record.ts'
import type { Produced } from '../kafka/produce/pending.ts'
import type { OutRecord, ProduceOptions, Producer, RecordList } from '../kafka/produce/produce.ts'
import type { VariantCodec } from '../schemas/codec.ts'
import { rulesFailedRecord } from '../schemas/dead-record.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import { DELIVERIES } from '../schemas/topics.ts'
import type { Outline } from '../settings/lookup.ts'

export type DeliveryWriterParts = {
  codec: Pick<VariantCodec<Delivery>, 'encode' | 'encodeVariants'>
  producer: Pick<Producer, 'produce' | 'produceList'>
  /** Called once for each event and destination whose rules ran. */
  onRuled: (destination: Outline, ruled: Ruled) => void
}

type Routed = Pick<Taken<Event>, 'value' | 'trace' | 'partition' | 'offset'>

/** `count`: number of deliveries, without dead letters. */
export type Writing = { count: number; writing: Promise<Produced> }

/**
 * Writes a delivery for each destination. Destinations without rules share the encoded body while they wait: 32 KB for
 * each of 10,000 destinations would take 320 MB.
 */
export function writeDeliveries(
  record: Routed,
  { plain, ruled }: Matching,
  parts: DeliveryWriterParts,
): Writing {
  if (ruled.length === 0) return { count: plain.length, writing: writePlain(record, plain, parts) }
  const { unchanged, count, own, later } = runRules(record, ruled, parts)
  const all = [...plain, ...unchanged]
  const { producer } = parts
  const options = optionsOf(record)
  const writing = Promise.all([
    all.length > 0 ? writePlain(record, all, parts) : ACKED,
    own.length > 0 ? producer.produce(own, options) : ACKED,
    later.count > 0 ? producer.produceList(later, options) : ACKED,
  ])
  return { count: plain.length + count, writing: writing.then(worst) }
}

const ACKED = Promise.resolve('acked' as const)

const optionsOf = ({ value, trace }: Routed): ProduceOptions => ({ trace, flow: value.sourceId })

/** `unknown` wins, because the event is then routed again. */
const worst = (outcomes: readonly Produced[]): Produced =>
  outcomes.includes('unknown') ? 'unknown' : (outcomes.find((outcome) => outcome !== 'acked') ?? 'acked')

function writePlain(
  record: Routed,
  plain: readonly Outline[],
  { producer, codec }: DeliveryWriterParts,
): Promise<Produced> {
  const { value: event } = record
  const [first] = plain
  const options = optionsOf(record)
  if (!first) return producer.produce([], options)
  const delivery = deliveryOf(event, first.id, Date.now())
  if (plain.length > 1)
    return producer.produceList(listOf(event, { destinations: plain, delivery, codec }), options)
  const only = { topic: DELIVERIES, key: deliveryKey(first.id, event), value: codec.encode(delivery) }
  return producer.produce([only], options)
}

type SharedBody = {
  destinations: readonly Outline[]
  delivery: Delivery
  codec: DeliveryWriterParts['codec']
}

/** @param delivery for the first destination. The others differ only in their ids. */
function listOf(event: Event, { destinations, delivery, codec }: SharedBody): RecordList {
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

/** Limit for the bodies of one event that wait in memory. Beyond it, the rules run again when the record is sent. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

/** `unchanged`: destinations that get the same body as those without rules. `later`: records that are built when sent. */
type Results = { unchanged: readonly Outline[]; count: number; own: readonly OutRecord[]; later: RecordList }

function runRules(
  { value: event, partition, offset }: Routed,
  ruled: readonly Outline[],
  { codec, onRuled }: DeliveryWriterParts,
): Results {
  const now = Date.now()
  const unchanged: Outline[] = []
  const own: OutRecord[] = []
  const rest: Outline[] = []
  let count = 0
  let bytes = 0

  const recordOf = (made: Made): OutRecord =>
    made.outcome === 'sent'
      ? { topic: DELIVERIES, key: made.key, value: codec.encode(made.delivery) }
      : rulesFailedRecord(made, { partition, offset }, codec.encode)

  for (const destination of ruled) {
    const result = applyRules(event, destination, now)
    onRuled(destination, result)
    if (!('delivery' in result)) continue
    if (result.outcome === 'sent') count += 1
    if (result.outcome === 'sent' && keepsBody(destination)) unchanged.push(destination)
    else if (bytes > MAX_KEPT_BYTES) rest.push(destination)
    else {
      const record = recordOf(result)
      own.push(record)
      bytes += record.value?.length ?? 0
    }
  }
  const later: RecordList = {
    count: rest.length,
    // the same rules give the same result
    record: (place) => recordOf(applyRules(event, rest[place] as Outline, now) as Made),
  }
  return { unchanged, count, own, later }
}

type Made = Extract<Ruled, { delivery: Delivery }>

const keepsBody = ({ rules }: Outline) => rules?.redact === undefined && rules?.shape === undefined
