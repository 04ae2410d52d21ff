import { inject, onTestFinished } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { consume } from '../../kafka/consume/consume.ts'
import type { Handler } from '../../kafka/consume/record.ts'
import { createProducer, type OutRecord, type Producer } from '../../kafka/produce/produce.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import { createSlices } from '../../process/slices.ts'
import { createDuplicates } from '../../router/duplicates/duplicates.ts'
import { createRouter } from '../../router/run.ts'
import type { Codec, VariantCodec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DEAD, DELIVERIES, EVENTS, SEEN } from '../../schemas/topics.ts'
import type { Destination } from '../../settings/settings.ts'
import { closing, connection, readAll } from './cluster.ts'
import { aDestination, anEvent } from './events.ts'

/** What is special about a router. */
export type Fate = {
  /** A topic that gets none of its records: their producer reports this only when the process ends. */
  withheld?: string
  settlesNothing?: boolean
  /** `router.seen` is not read before. */
  readsAfter?: Promise<void>
  /** Default: one destination without rules. */
  destinationsOf?: (sourceId: string) => Destination[]
}

export type Routing = {
  /** Ids of the events whose rules have run, in order. */
  routed: string[]
  duplicates: string[]
  loads: string[]
  /** How many ids. */
  remembered(): number
  crash(): Promise<void>
}

/** Topics of its own with routers in this process, so that one can be ended at a chosen point. */
export async function aWorld() {
  const kafka = await connection([{ name: EVENTS }, { name: DELIVERIES }, { name: DEAD }, { name: SEEN }])
  const registry = openRegistry({ url: inject('registryUrl'), auth: undefined })
  const events = await openCodec(registry, 'event', kafka.named(`${EVENTS}-value`))
  const deliveries = await openCodec(registry, 'delivery', kafka.named(`${DELIVERIES}-value`))
  const producer = closing(await createProducer(kafka))
  return {
    kafka,
    producer,
    /** As ingest writes them. */
    async send(...given: Partial<Event>[]): Promise<void> {
      const records = given.map(anEvent).map(
        (event): OutRecord => ({
          topic: EVENTS,
          key: `${event.sourceId}/${event.userId ?? event.anonymousId}`,
          value: events.encode(event),
        }),
      )
      await producer.produce(records)
    },
    /** @returns the ids of the events that deliveries were made of, in the order of each partition. */
    async delivered(): Promise<string[]> {
      const decoded = (await readAll(kafka, DELIVERIES)).map(({ value }) => deliveries.decode(value))
      const each = await Promise.all(decoded)
      return each.map((one) => (one.ok ? one.value.messageId : 'undecodable'))
    },
    /** @returns how many events the group has committed in all partitions. */
    committed: () =>
      administered(kafka, async (admin) => {
        const topics = [kafka.named(EVENTS)]
        const [topic] = await admin.fetchOffsets({ groupId: kafka.named('router'), topics })
        return topic?.partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0) ?? 0
      }),
    /** @returns the ids of the group's members. A member that loses its session gets another. */
    members: () =>
      administered(kafka, async (admin) => {
        const { groups } = await admin.describeGroups([kafka.named('router')])
        return groups.flatMap(({ members }) => members.map(({ memberId }) => memberId))
      }),
    route: (fate: Fate = {}) => aRouter({ kafka, producer, events, deliveries }, fate),
  }
}

type Admin = ReturnType<Connection['kafka']['admin']>

async function administered<T>({ kafka }: Connection, act: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await act(admin)
  } finally {
    await admin.disconnect()
  }
}

type Parts = {
  kafka: Connection
  producer: Producer
  events: Codec<Event>
  deliveries: VariantCodec<Delivery>
}

async function aRouter(
  parts: Parts,
  { withheld, settlesNothing = false, readsAfter, destinationsOf = () => [aDestination()] }: Fate,
): Promise<Routing> {
  const { kafka, events, deliveries } = parts
  const producer: Producer = {
    ...parts.producer,
    produce: (records) =>
      records.some(({ topic }) => topic === withheld)
        ? Promise.resolve('unknown' as const)
        : parts.producer.produce(records),
    produceList: (list) =>
      list.record(0).topic === withheld
        ? Promise.resolve('unknown' as const)
        : parts.producer.produceList(list),
  }
  const onFatal = (error: Error) => {
    throw error
  }
  const routing: Routing = {
    routed: [],
    duplicates: [],
    loads: [],
    remembered: () => duplicates.size().ids,
    crash: async () => undefined,
  }
  const reader = closing(await openReader({ connection: kafka, topic: SEEN, onFatal }))
  const duplicates = createDuplicates({
    reader: {
      ...reader,
      async read(range, onValue) {
        await readsAfter
        return reader.read(range, onValue)
      },
    },
    producer,
    windowMs: 3_600_000,
    onLoad: (outcome) => void routing.loads.push(outcome),
    // else long, so that no busy machine routes before they are loaded
    ...(!readsAfter && { waitMs: 60_000 }),
    onUnwritten: () => undefined,
    log: kafka.log,
    failures: kafka.failures,
  })
  onTestFinished(duplicates.forget)
  const handle = createRouter({
    settings: { isFresh: () => true, destinationsOf, sources: new Map() },
    codec: deliveries,
    producer,
    duplicates,
    slices: createSlices(),
    onBehind: () => undefined,
    onRouted: ({ messageId }) => void routing.routed.push(messageId),
    onRuled: () => undefined,
    onDuplicate: ({ messageId }) => void routing.duplicates.push(messageId),
  })
  const deaf: Handler<Event> = (record, message) => handle({ ...record, settle: () => undefined }, message)
  const consumer = await consume({
    connection: kafka,
    group: 'router',
    topics: [EVENTS],
    codec: events,
    handle: settlesNothing ? deaf : handle,
    producer,
    onFatal,
    watch: duplicates.watch,
  })
  let ended: Promise<void> | undefined
  // does not wait for work in flight: a crash loses it
  routing.crash = () => {
    ended ??= consumer.close(0)
    return ended
  }
  closing({ close: routing.crash })
  await consumer.joined
  return routing
}
