import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deliveredAt } from '../../harness/arrivals.ts'
import { type Answered, type Fleet, post, startFleet } from '../../harness/fleet.ts'
import { createFaultReporter, LOG_FAULTS } from '../../kafka/admin/lost-records.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { type OwnBroker, startOwnBroker } from '../helpers/broker.ts'
import { lag, readAll } from '../helpers/cluster.ts'
import { readDeliveries } from '../helpers/decoded.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const OUTAGE_MS = 60_000
/** Calls have been refused and sent again several times. */
const FLOOD_AFTER_MS = 40_000
const MB = 1024 * 1024
/** The most that ingest holds for Kafka of one source. */
const QUEUE_BYTES = 24 * MB
const destinations = ['crm', 'warehouse']

let broker: OwnBroker
let receiver: Receiver
let sluice: System
let fleet: Fleet
let watched: Watched
/** When Kafka is started again, in ms since 1970. */
let backAt: number
/** The highest memory of ingest under the load of the clients alone, in bytes. */
let rssOfClients: number
/** Calls that filled the queue, and later ones. */
let flood: Answered[]
let whenFull: Answered[]
/** Calls of the flood that had no answer when all later calls had theirs. */
let overtaken: Answered[]
/** Control's problems, a while into the outage. */
let toldWhenAway: unknown
/** Begun while Kafka is away: the partitions of `events`. */
let openedWhenAway: Promise<number>

beforeAll(async () => {
  broker = await startOwnBroker()
  receiver = await startReceiver()
  sluice = await startSystem({ KAFKA_BROKERS: broker.now.brokers })
  await sluice.api('post', 'sources', { id: 'bulk', name: 'Bulk', writeKey: 'bulk-write-key' })
  for (const id of destinations) await sluice.destination(id, [`${receiver.url}/${id}`])
  watched = watch(sluice)
  fleet = startFleet({ url: sluice.ingest, writeKey: 'shop-write-key', size: 100 })
  await until(() => fleet.accepted.size > 500, { message: 'calls are accepted' })
  await loseKafka()
  await until(() => watched.isReady(), { message: 'ingest is ready again' })
  await fleet.drain()
  const routed = async () => (await lag(sluice.connection, { group: 'router', topic: EVENTS })) === 0
  await until(routed, { timeout: 120_000, message: 'all is routed' })
  await watched.close()
  // it took over 240 s on a busy machine
}, 480_000)

afterAll(async () => {
  await sluice?.close()
  await Promise.all([broker?.close(), receiver?.close()])
})

async function loseKafka(): Promise<void> {
  const [floodTime, end] = [sleep(FLOOD_AFTER_MS), sleep(OUTAGE_MS)]
  await broker.now.kill()
  await floodTime
  const report = createFaultReporter({ connection: sluice.connection, seenBy: 'a test' })
  report({ topic: sluice.connection.named(EVENTS), partition: 0, cause: 'truncated', offset: 12, to: 5 })
  rssOfClients = Math.max(...watched.rss)
  const flooding = await fillQueue()
  const answered = new Set<Promise<Answered>>()
  for (const one of flooding) one.then(() => answered.add(one))
  whenFull = await Promise.all(Array.from({ length: 20 }, sendOne))
  const waiting = flooding.filter((one) => !answered.has(one))
  flood = await Promise.all(flooding)
  overtaken = await Promise.all(waiting)
  toldWhenAway = (await sluice.api('get', 'status')).body
  // they wait for over two minutes, longer than the rest of the outage
  openedWhenAway = partitionsOfEvents()
  openedWhenAway.catch(() => undefined) // the test awaits it
  await end
  backAt = Date.now()
  await broker.restart('kill')
}

async function partitionsOfEvents(): Promise<number> {
  const onFatal = () => undefined
  const { connection } = sluice
  const [reader, producer] = await Promise.all([
    openReader({ connection, topic: EVENTS, onFatal }),
    createProducer(connection),
  ])
  await Promise.all([reader.close(), producer.close()])
  return reader.partitions
}

const sendOne = () => {
  const body = JSON.stringify({ writeKey: 'bulk-write-key', userId: 'u', event: 'Late' })
  return post(`${sluice.ingest}/v1/track`, { body })
}

/** Fills the queue, then sends half as much again at once. Does not wait for the answers. */
async function fillQueue(): Promise<Promise<Answered>[]> {
  const call = { type: 'track', userId: 'u', event: 'Big', properties: { text: 'x'.repeat(30_000) } }
  const body = JSON.stringify({ writeKey: 'bulk-write-key', batch: Array.from({ length: 16 }, () => call) })
  const send = () => post(`${sluice.ingest}/v1/batch`, { body })
  const answers: Promise<Answered>[] = []
  while ((await watched.queueBytes()) <= QUEUE_BYTES) answers.push(send())
  return [...answers, ...Array.from({ length: 25 }, send)]
}

/** How often each value occurs. */
function counts(values: Iterable<string>): Map<string, number> {
  const found = new Map<string, number>()
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1)
  return found
}

describe('while Kafka is away for a minute under load', () => {
  test('a call is answered 200, or 503 with a Retry-After', () => {
    const failed = [...fleet.answers, ...flood, ...whenFull].filter(({ status }) => status !== 200)
    const kinds = failed.map(({ status, code, retryAfter }) => `${status} ${code} ${retryAfter}`)
    expect([...new Set(kinds)]).toEqual(['503 unavailable 2000'])
    // only clients that give up early get no answer: within 15 s each call has one
    expect([...new Set(fleet.unanswered)]).toEqual(['timeout after 3000 ms'])
  })

  test('the answer comes after 10 s, and when the queue is full at once', () => {
    const late = fleet.answers.filter(({ took }) => took > 9_000).map(({ took }) => took)
    expect(late.length).toBeGreaterThan(100)
    expect(new Set(whenFull.map(({ status }) => status))).toEqual(new Set([503]))
    // Kafka was still away: calls that had waited got 503 too, and later
    expect(new Set(overtaken.map(({ status }) => status))).toEqual(new Set([503]))
  })

  test('ingest is not ready, and is ready again when Kafka is back', () => {
    expect(watched.readiness).toEqual([200, 503, 200])
  })

  test('control says that Kafka is away, and afterwards only that records were lost', async () => {
    expect(toldWhenAway).toMatchObject({ state: 'error', problems: [{ code: 'kafka_unreachable' }] })
    const codes = async () => {
      const { body } = await sluice.api('get', 'status')
      return (body.problems as { code: string }[]).map(({ code }) => code).join()
    }
    await until(async () => (await codes()) === 'records_lost')
  })

  test('a client that connects meanwhile waits for Kafka', async () => {
    expect(await openedWhenAway).toBe(4)
  })

  test('a loss that was noticed meanwhile is reported in log-faults afterwards', async () => {
    const reported = async () =>
      (await readAll(sluice.connection, LOG_FAULTS))
        .map(({ value }) => JSON.parse(String(value)))
        .find(({ seenBy }) => seenBy === 'a test')
    expect(await until(reported)).toMatchObject({ topic: EVENTS, to: 5, lost: 7 })
  })

  test('the memory of ingest stays bounded', () => {
    expect(rssOfClients).toBeLessThan(256 * MB)
    // a full queue and the refused bodies also leave garbage
    expect(Math.max(...watched.rss)).toBeLessThan(400 * MB)
  })

  test('every call answered 200 is in events, with one record per destination in deliveries, however often it was sent', async () => {
    const events = await readAll(sluice.connection, EVENTS)
    const sent = counts(events.map(({ headers }) => headers.messageId ?? ''))
    expect([...fleet.accepted].filter((id) => !sent.has(id))).toEqual([])
    const deliveries = await readDeliveries(sluice)
    // the router cannot know whether these were written, so they may exist twice
    const inHand = deliveries.filter(({ routedAt }) => routedAt < backAt)
    const exempt = new Set(inHand.map(({ messageId }) => messageId))
    const made = counts(deliveries.map(({ messageId, destinationId }) => `${messageId} ${destinationId}`))
    const told = [...fleet.accepted].flatMap((id) => destinations.map((destination) => ({ id, destination })))
    const count = (id: string, destination: string) => made.get(`${id} ${destination}`) ?? 0
    expect(told.filter(({ id, destination }) => count(id, destination) === 0)).toEqual([])
    const once = told.filter(({ id }) => !exempt.has(id))
    expect(once.filter(({ id, destination }) => count(id, destination) > 1)).toEqual([])
    expect(once.filter(({ id }) => (sent.get(id) ?? 0) > 1).length).toBeGreaterThan(200)
  })

  test('every call answered 200 reaches the receiver for each destination', async () => {
    const delivered = deliveredAt(receiver)
    const expected = [...fleet.accepted].flatMap((id) =>
      destinations.map((path) => ({ path: `/${path}`, id })),
    )
    const missing = () => expected.filter(({ path, id }) => !delivered(path, id))
    await until(() => missing().length === 0, {
      timeout: 120_000,
      message: () => `all is delivered; of ${expected.length}, ${missing().length} are missing`,
    })
  })
})

type Watched = {
  /** Each status of `/readyz`, without repetitions. */
  readiness: readonly number[]
  isReady(): boolean
  /** In bytes, four times a second. */
  rss: readonly number[]
  queueBytes(): Promise<number>
  close(): Promise<void>
}

/** Reports a process that does not answer. Undici would wait for five minutes. */
const within = () => ({ signal: AbortSignal.timeout(10_000) })

function watch({ ingest, env }: Pick<System, 'ingest' | 'env'>): Watched {
  const readiness: number[] = []
  const rss: number[] = []
  let closed = false

  async function look(): Promise<void> {
    const ready = await request(`${ingest}/readyz`, within())
    await ready.body.dump()
    if (ready.statusCode !== readiness.at(-1)) readiness.push(ready.statusCode)
    rss.push(await metric('process_resident_memory_bytes'))
  }

  async function metric(name: string): Promise<number> {
    const { body } = await request(`http://127.0.0.1:${env.INGEST_METRICS_PORT}/metrics`, within())
    const metrics = await body.text()
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
  }

  async function run(): Promise<void> {
    while (!closed) {
      await look().catch((error) => process.stderr.write(`    a look at ingest failed: ${error}\n`))
      await sleep(250)
    }
  }

  const running = run()
  return {
    readiness,
    isReady: () => readiness.at(-1) === 200,
    rss,
    queueBytes: () => metric('sluice_kafka_queue_bytes'),
    async close() {
      closed = true
      await running
    },
  }
}
