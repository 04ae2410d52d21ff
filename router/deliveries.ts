import { setTimeout as sleep } from 'node:timers/promises'
import { deliveryFrom, type RulesRun, type WithBody } from '../delivery/routing/apply-rules.ts'
import { deliveryKey, deliveryOf, deliveryWith, idsOf, type Matching } from '../delivery/routing/routing.ts'
import type { ConsumerRecord } from '../kafka/consume/record.ts'
import type { OutRecord, Produced, ProduceOptions, Producer, RecordList } from '../kafka/produce/produce.ts'
import type { Slices } from '../process/slices.ts'
import type { VariantCodec } from '../schemas/codec.ts'
import { rulesFailedRecord } from '../schemas/dead-record.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import { DELIVERIES } from '../schemas/topics.ts'
import type { Outline } from '../settings/lookup.ts'
import { createRuleRuns, type RuleRuns } from './rule-runs.ts'

export type DeliveryWriterParts = {
  codec: Pick<VariantCodec<Delivery>, 'encode' | 'encodeVariants'>
  producer: Pick<Producer, 'produce' | 'produceList' | 'queuedBytes'>
  slices: Slices
  /** Once for each event and destination whose rules ran. */
  onRuled: (destination: Outline, result: RulesRun) => void
}

/** Nothing is routed while more waits for Kafka: refusing records would break their order. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
const CHECK_MS = 50

export const hasBacklog = ({ queuedBytes }: Pick<Producer, 'queuedBytes'>): boolean =>
  queuedBytes() > MAX_QUEUED_BYTES

type Routed = Pick<ConsumerRecord<Event>, 'value' | 'trace' | 'partition' | 'offset' | 'owned'>

/** `count`: deliveries, without dead letters. */
export type Writing = { count: number; writing: Promise<Produced> }

/**
 * Destinations without rules share the encoded body: 32 KB for each of 10,000 would take 320 MB.
 * @returns a promise if the rules take more than one slice. Each slice is written at once, so cheap rules do not wait.
 */
export function writeDeliveries(
  record: Routed,
  { plain, ruled }: Matching,
  parts: DeliveryWriterParts,
): Writing | Promise<Writing> {
  if (ruled.length === 0)
    return { count: plain.length, writing: writeShared(record, { destinations: plain }, parts) }
  const runs = createRuleRuns(record.value, ruled)
  const results = runSlice(runs, record, parts)
  const first = { ...results, count: plain.length + results.count, shared: [...plain, ...results.shared] }
  const begun = writeResults(record, first, parts)
  return runs.isDone() ? begun : continueRuns(runs, { record, begun }, parts)
}

/**
 * Holds only one slice's bodies in memory. Stops once the partition is given up or a write is uncertain: the event is
 * then routed again.
 */
async function continueRuns(
  runs: RuleRuns,
  { record, begun }: { record: Routed; begun: Writing },
  parts: DeliveryWriterParts,
): Promise<Writing> {
  let { count, writing } = begun
  let outcome: Produced = 'acked'
  while (!runs.isDone()) {
    outcome = worst([outcome, await writing])
    const goesOn = outcome !== 'unknown' && record.owned() && (await nextSlice(record, parts))
    if (!goesOn) return { count, writing: UNKNOWN }
    const written = writeResults(record, runSlice(runs, record, parts), parts)
    count += written.count
    writing = written.writing
  }
  return { count, writing: writing.then((last) => worst([outcome, last])) }
}

/**
 * Waits while there is a backlog: many events may have slices to come, of up to 4 MB each.
 * @returns false if the partition was given up meanwhile.
 */
async function nextSlice({ owned }: Routed, { slices, producer }: DeliveryWriterParts): Promise<boolean> {
  await slices.next()
  while (hasBacklog(producer)) {
    await sleep(CHECK_MS)
    if (!owned()) return false
    await slices.next()
  }
  return true
}

const ACKED = Promise.resolve('acked' as const)
const UNKNOWN = Promise.resolve('unknown' as const)

const optionsOf = ({ value, trace }: Routed): ProduceOptions => ({ trace, flow: value.sourceId })

/** `unknown` wins, because the event is then routed again. */
const worst = (outcomes: readonly Produced[]): Produced =>
  outcomes.includes('unknown') ? 'unknown' : (outcomes.find((outcome) => outcome !== 'acked') ?? 'acked')

const MAX_SLICE_BYTES = 4 * 1024 * 1024

/**
 * `shared`: destinations that get the same body as those without rules. `body`: that body, once rendered. `own`: the
 * records of all other destinations.
 */
type Results = {
  count: number
  shared: readonly Outline[]
  body?: string | undefined
  own: readonly OutRecord[]
}

/** About 0.5 ms: looking at the clock after each cheap rule would double its cost. */
const UNCHECKED_WORK = 20_000

/** Runs nothing if the slice is spent. */
function runSlice(
  runs: RuleRuns,
  { value: event, partition, offset }: Routed,
  { codec, slices, onRuled }: DeliveryWriterParts,
): Results {
  const now = Date.now()
  const shared: Outline[] = []
  const own: OutRecord[] = []
  let count = 0
  let bytes = 0
  let body: string | undefined

  const recordOf = (result: WithBody, destination: Outline): OutRecord => {
    const made = deliveryFrom(result, event, { destination, now })
    return made.outcome === 'sent'
      ? { topic: DELIVERIES, key: made.key, value: codec.encode(made.delivery) }
      : rulesFailedRecord(made, { partition, offset }, codec.encode)
  }

  let checkAt = runs.work()
  const isSpent = () => {
    if (runs.work() < checkAt) return false
    checkAt = runs.work() + UNCHECKED_WORK
    return slices.isSpent()
  }

  while (!runs.isDone() && bytes <= MAX_SLICE_BYTES && !isSpent()) {
    const ran = runs.next()
    if (!ran) continue
    const { destination, result } = ran
    onRuled(destination, result)
    if (!('body' in result)) continue
    if (result.outcome === 'sent') count += 1
    if (result.outcome === 'sent' && keepsBody(destination)) {
      shared.push(destination)
      body = result.body
    } else {
      const record = recordOf(result, destination)
      own.push(record)
      bytes += record.value?.length ?? 0
    }
  }
  return { count, shared, body, own }
}

const keepsBody = ({ rules }: Outline) => rules?.redact === undefined && rules?.shape === undefined

function writeResults(
  record: Routed,
  { count, shared, own, body }: Results,
  parts: DeliveryWriterParts,
): Writing {
  const writing = Promise.all([
    shared.length > 0 ? writeShared(record, { destinations: shared, body }, parts) : ACKED,
    own.length > 0 ? parts.producer.produce(own, optionsOf(record)) : ACKED,
  ])
  return { count, writing: writing.then(worst) }
}

type Shared = Pick<Results, 'body'> & { destinations: readonly Outline[] }

function writeShared(
  record: Routed,
  { destinations, body }: Shared,
  { producer, codec }: DeliveryWriterParts,
): Promise<Produced> {
  const { value: event } = record
  const [first] = destinations
  const options = optionsOf(record)
  if (!first) return producer.produce([], options)
  const now = Date.now()
  const delivery =
    body === undefined
      ? deliveryOf(event, first.id, now)
      : deliveryWith(body, event, { destinationId: first.id, now })
  if (destinations.length > 1)
    return producer.produceList(listOf(event, { destinations, delivery, codec }), options)
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
