import { readConfig } from '../config.ts'
import { createAnnounced } from '../control/tasks/notices/announced.ts'
import { announcedState, type State } from '../control/tasks/notices/decide.ts'
import type { Gone, OffsetRange } from '../harness/kafka/disk.ts'
import { lag, readEach } from '../harness/kafka/topics.ts'
import { until } from '../harness/until.ts'
import { LOG_FAULTS, type Loss } from '../kafka/admin/lost-records.ts'
import { listTopics } from '../kafka/admin/topics.ts'
import { type Connection, connect } from '../kafka/client.ts'
import { openTable } from '../kafka/tables/table.ts'
import { createLog } from '../process/log.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { ATTEMPTS, DEAD, DELIVERIES, DUE, EVENTS, isRung, TASKS } from '../schemas/topics.ts'
import { type Cut, type Facts, pair } from './account.ts'
import { NOTICES, type Notice, type NoticeFacts, noticeIn } from './notices.ts'
import type { CutTopic } from './plan.ts'
import { say } from './program.ts'
import type { Sluice } from './sluice.ts'
import type { Step } from './trail.ts'

export type Topics = Pick<Facts, 'events' | 'routed' | 'dead' | 'cancelled' | 'recorded' | 'mistaken'> & {
  reported: OffsetRange[]
  notices: Notice[]
}

export type Kafka = {
  /** @returns whether all records were settled within `ms`. If not, prints how many wait in which topics. */
  untilSettled(ms: number): Promise<boolean>
  topics(): Promise<Topics>
  /** What control has remembered of each webhook, in the order of writing, by id. */
  remembered(): Promise<NoticeFacts['remembered']>
  /** The topics of this kind, as named on the broker. */
  cut(topic: CutTopic): Promise<string[]>
  taken(topic: CutTopic, gone: readonly Gone[]): Promise<Cut[]>
  /** @param keys `destinationId messageId` @returns their records in all topics, in no order */
  trail(keys: ReadonlySet<string>): Promise<Step[]>
}

type OpenCodec = <T>(schema: 'event' | 'delivery' | 'attempt', topic: string) => Promise<Codec<T>>

export function openKafka({ env }: Pick<Sluice, 'env'>): Kafka {
  const config = readConfig(env, 'router')
  const connection = connect(config.kafka, {
    clientId: 'torture',
    log: createLog({ role: 'start', level: 'silent' }),
  })
  const registry = openRegistry(config.registry)
  const codec: OpenCodec = <T>(schema: 'event' | 'delivery' | 'attempt', topic: string) =>
    openCodec(registry, schema, `${connection.named(topic)}-value`) as Promise<Codec<T>>

  return {
    untilSettled: (ms) => untilSettled(connection, ms),
    topics: () => readTopics(connection, codec),
    remembered: () => remembered(connection),
    async cut(topic) {
      return topic === 'retries'
        ? (await retryTopics(connection)).map(connection.named)
        : [connection.named(topic)]
    },
    async taken(kind, gone) {
      const keyOf = await keyReader(kind, codec)
      return gone.map(({ values, topic, isReplaced = false, ...range }) => ({
        ...range,
        topic: connection.plain(topic),
        kind,
        isUnwitnessed: isReplaced,
        keys: new Map([...values].map(([offset, value]) => [offset, keyOf(value)])),
      }))
    },
    trail: (keys) => readTrail(keys, connection, codec),
  }
}

async function readTopics(connection: Connection, codec: OpenCodec): Promise<Topics> {
  const events = new Set<string>()
  const notices: Notice[] = []
  const routed = new Set<string>()
  const dead = new Set<string>()
  const cancelled = new Set<string>()
  const recorded = new Set<string>()
  const mistaken = new Set<string>()
  await each(connection, EVENTS, await codec<Event>('event', EVENTS), (event) => {
    if (event.sourceId === NOTICES) notices.push(noticeIn(event))
    else events.add(event.messageId)
  })
  const delivery = await codec<Delivery>('delivery', DELIVERIES)
  await each(connection, DELIVERIES, delivery, (one) => routed.add(pair(one)))
  await each(connection, DEAD, delivery, (one) => dead.add(pair(one)))
  await each(connection, ATTEMPTS, await codec<Attempt>('attempt', ATTEMPTS), (one) => {
    if (one.outcome === 'cancelled') cancelled.add(pair(one))
    if (one.outcome === 'delivered') recorded.add(pair(one))
    if (one.outcome === 'delivered' && isOfAnother(one)) mistaken.add(pair(one))
  })
  const settled = { routed, dead, cancelled, recorded, mistaken }
  return { events, notices, ...settled, reported: await reported(connection) }
}

const retryTopics = async (connection: Connection): Promise<string[]> => [
  ...(await listTopics(connection)).filter(isRung),
  DUE,
]

/** @returns a function that reads the key of a missing record, as in `account.ts`. */
async function keyReader(kind: CutTopic, codec: OpenCodec): Promise<(value: Buffer) => string> {
  if (kind === 'events') {
    const event = await codec<Event>('event', EVENTS)
    return (value) => decoded(event, value, EVENTS).messageId
  }
  const delivery = await codec<Delivery>('delivery', DELIVERIES)
  return (value) => pair(decoded(delivery, value, DELIVERIES))
}

async function readTrail(
  keys: ReadonlySet<string>,
  connection: Connection,
  codec: OpenCodec,
): Promise<Step[]> {
  const steps: Step[] = []
  const delivery = await codec<Delivery>('delivery', DELIVERIES)
  const attempt = await codec<Attempt>('attempt', ATTEMPTS)
  for (const topic of [DELIVERIES, ...(await retryTopics(connection)), DEAD, ATTEMPTS])
    await readEach(connection, topic, ({ value, headers, ...at }) => {
      const content = decoded<Delivery | Attempt>(topic === ATTEMPTS ? attempt : delivery, value, topic)
      if (keys.has(pair(content))) steps.push({ ...at, key: pair(content), topic, headers, content })
    })
  return steps
}

/** Endpoints answer with the id of the delivery (harness/behaviours.ts). */
const isOfAnother = ({ deliveryId, response }: Attempt) =>
  /^[0-9a-f]{32}$/.test(response ?? '') && response !== deliveryId

async function untilSettled(connection: Connection, ms: number): Promise<boolean> {
  let left: Awaited<ReturnType<typeof unsettledRecords>> = []
  const isSettled = async () => {
    left = await unsettledRecords(connection)
    return left.length === 0
  }
  if (await until(isSettled, { timeout: ms }).catch(() => false)) return true
  say(`not settled: ${left.map(({ topic, records }) => `${records} of ${topic}`).join(', ') || 'unknown'}`)
  return false
}

async function unsettledRecords(connection: Connection): Promise<{ topic: string; records: number }[]> {
  const rungs = (await listTopics(connection)).filter(isRung)
  const groups = [
    { group: 'router', topic: EVENTS },
    { group: 'deliverer', topic: DELIVERIES },
    { group: 'deliverer.due', topic: DUE },
    ...rungs.map((topic) => ({ group: 'deliverer.rungs', topic })),
  ]
  const lags = await Promise.all(
    groups.map(async (of) => ({ topic: of.topic, records: await lag(connection, of) })),
  )
  return lags.filter(({ records }) => records > 0)
}

async function remembered(connection: Connection): Promise<NoticeFacts['remembered']> {
  const announced = createAnnounced()
  const found = new Map<string, State[]>()
  function onChange(key: string, value: Buffer | undefined): void {
    if (!announced.apply(key, value)) return
    const id = key.slice(key.indexOf('/') + 1)
    found.set(id, [...(found.get(id) ?? []), announcedState(announced.states, id)])
  }
  const table = await openTable({ connection, topic: TASKS, onChange, onFatal: () => {} })
  await table.loaded
  await table.close()
  return found
}

async function reported(connection: Connection): Promise<OffsetRange[]> {
  const found: OffsetRange[] = []
  await readEach(connection, LOG_FAULTS, ({ value }) => {
    const { topic, partition, cause, to, lost }: Loss = JSON.parse(String(value))
    if (cause === 'truncated') found.push({ topic, partition, from: to, to: to + lost })
  })
  return found
}

async function each<T>(
  connection: Connection,
  topic: string,
  codec: Codec<T>,
  onValue: (value: T) => void,
): Promise<void> {
  await readEach(connection, topic, ({ value }) => onValue(decoded(codec, value, topic)))
}

function decoded<T>(codec: Codec<T>, value: Buffer | null, topic: string): T {
  const found = codec.decode(value)
  if (found instanceof Promise || !found.ok) throw new Error(`a record of ${topic} cannot be read`)
  return found.value
}
