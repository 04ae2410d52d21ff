import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliveredAt } from '../../harness/arrivals.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { PARKED } from '../../kafka/produce/park.ts'
import { DEAD, DUE, rungTopic } from '../../schemas/topics.ts'
import { type OwnBroker, startOwnBroker } from '../helpers/broker.ts'
import { readAll } from '../helpers/cluster.ts'
import { readAttempts, readDeliveries } from '../helpers/decoded.ts'
import { type Arrival, type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** Three commit intervals: what was settled earlier is committed, even on a slow machine. */
const COMMITTED_AFTER_MS = 1_500
const CALLS_A_SECOND = 50
/** The last rung keeps deferrals rare if a busy machine lets the breaker open. */
const LADDER = '100ms,200ms,400ms,2s'
/** Most deliveries between two faults are older than that time. */
const CALLS_BETWEEN = 90
/** POSTs to the first are always in flight; the other answers 503 now and then. */
const paths = { patient: '/slow/100', moody: '/tenth' }

/** `at`: before the signal. `back`: when everything runs; after the broker, a deliverer has joined. */
type Crash = { what: string; at: number; back: number }

let broker: OwnBroker
let receiver: Receiver
let sluice: System
let has: ReturnType<typeof deliveredAt>
let fleet: Fleet
const crashes: Crash[] = []

beforeAll(async () => {
  broker = await startOwnBroker()
  receiver = await startReceiver()
  has = deliveredAt(receiver)
  sluice = await startSystem({ KAFKA_BROKERS: broker.now.brokers, RETRY_LADDER: LADDER })
  for (const [id, path] of Object.entries(paths)) await sluice.destination(id, [receiver.url + path])
  fleet = startFleet({ url: sluice.ingest, writeKey: 'shop-write-key', size: CALLS_A_SECOND })
  await flows(50)
  await crash(['deliverer'], () => again('deliverer'))
  const second = await sluice.another('deliverer')
  await flows(50)
  await crash(['router', 'second deliverer'], async () => {
    await Promise.all([again('router'), second.crash()])
  })
  const third = await crash(['broker'], async () => {
    await broker.restart('kill')
    return sluice.another('deliverer')
  })
  expect(await third.stop()).toBe(0)
  await flows(50)
  await crash(['router', 'deliverer'], async () => {
    await Promise.all([again('router'), again('deliverer')])
  })
  await fleet.drain()
  await arrived([...fleet.accepted])
}, 900_000)

afterAll(async () => {
  await sluice?.close()
  await Promise.all([broker?.close(), receiver?.close()])
})

async function again(role: 'router' | 'deliverer'): Promise<void> {
  await sluice.crash(role)
  await sluice.start(role)
}

/** @param whose their crash may repeat deliveries */
async function crash<T>(whose: readonly string[], happens: () => Promise<T>): Promise<T> {
  const at = Date.now()
  const result = await happens()
  const back = Date.now()
  crashes.push(...whose.map((what) => ({ what, at, back })))
  await flows()
  return result
}

async function flows(calls = CALLS_BETWEEN): Promise<void> {
  const goal = fleet.accepted.size + calls
  await until(() => fleet.accepted.size >= goal, { timeout: 90_000, message: 'calls are accepted' })
  await arrived([...fleet.accepted])
}

async function arrived(accepted: readonly string[]): Promise<void> {
  const missing = () => accepted.filter((id) => !isDelivered(id))
  try {
    await until(() => accepted.every(isDelivered), {
      // on a very busy machine, a restarted deliverer took 32 s for its first calls
      timeout: 240_000,
      message: () =>
        `what was accepted has arrived, after crashes of ${crashes.map(({ what }) => what)}; missing: ${missing().length}, ${missing().slice(0, 5)}`,
    })
  } catch (error) {
    throw new Error(await whereTheyAre(missing().slice(0, 3)), { cause: error })
  }
}

/** For the error, as the cause may be rare. */
async function whereTheyAre(messageIds: readonly string[]): Promise<string> {
  const dead = (await readAll(sluice.connection, DEAD)).length
  const ofThem = ({ messageId }: { messageId: string }) => messageIds.includes(messageId)
  const routed = (await readDeliveries(sluice)).filter(ofThem).map((found) => ({ ...found, body: '' }))
  const attempts = (await readAttempts(sluice)).filter(ofThem)
  const [lag, health] = await Promise.all([sluice.api('get', 'lag'), sluice.api('get', 'health')])
  const log = sluice.logged('deliverer').slice(-20)
  return JSON.stringify({ dead, routed, attempts, lag, health, log })
}

const isDelivered = (messageId: string) => Object.values(paths).every((path) => has(path, messageId))

const idOf = ({ headers }: Arrival) => String(headers['x-delivery-id'])
const attemptOf = ({ headers }: Arrival) => Number(headers['x-attempt'])

/** Crashes that could repeat uncommitted work of one of these times. */
const crashesNear = (times: readonly number[], whose: RegExp, slack = COMMITTED_AFTER_MS) =>
  crashes.filter(
    ({ what, at, back }) => whose.test(what) && times.some((time) => at - slack <= time && time <= back),
  ).length

/**
 * Has better times than a busy receiver, which reads a request seconds after its POST began. The last attempts before
 * a kill may be missing.
 */
const loggedById = async () => Map.groupBy(await readAttempts(sluice), ({ deliveryId }) => deliveryId)

async function rescheduled() {
  const topics = [...LADDER.split(',').map(rungTopic), DUE]
  return (await Promise.all(topics.map((topic) => readDeliveries(sluice, topic)))).flat()
}

const deferredIds = (records: Awaited<ReturnType<typeof rescheduled>>) =>
  new Set(records.flatMap(({ deferrals, deliveryId }) => (deferrals > 0 ? deliveryId : [])))

test('no accepted call is missing, dead or parked', async () => {
  expect(fleet.accepted.size).toBeGreaterThan(500)
  for (const topic of [DEAD, PARKED]) expect(await readAll(sluice.connection, topic)).toEqual([])
})

test('repeated POSTs were in flight or uncommitted at a crash: clean joins and leaves repeat nothing', async () => {
  const routed = Map.groupBy(await readDeliveries(sluice), ({ deliveryId }) => deliveryId)
  const deferred = deferredIds(await rescheduled())
  const logged = await loggedById()
  const firsts = receiver.arrivals.filter(
    (arrival) => attemptOf(arrival) === 1 && !deferred.has(idOf(arrival)),
  )
  const unexplained = [...Map.groupBy(firsts, idOf)].flatMap(([id, arrivals]) => {
    const copies = routed.get(id)?.map(({ routedAt }) => routedAt) ?? []
    const begun = (logged.get(id) ?? []).filter(({ attempt }) => attempt === 1)
    const times = [...arrivals.map(({ at }) => at), ...begun.map(({ startedAt }) => startedAt)]
    const isExplained =
      copies.length <= 1 + crashesNear(copies, /router|broker/) &&
      arrivals.length <= copies.length * (1 + crashesNear(times, /deliverer|broker/))
    return isExplained ? [] : [{ id, copies, times }]
  })
  expect(unexplained).toEqual([])
  expect(firsts.length).toBeLessThan(1.25 * routed.size)
})

test('the same is true of repeated retries, or of their way to the next attempt', async () => {
  const records = await rescheduled()
  const deferred = deferredIds(records)
  const logged = await loggedById()
  const written = Map.groupBy(records, ({ deliveryId }) => deliveryId)
  const unexplained = [...Map.groupBy(receiver.arrivals, idOf)].flatMap(([id, arrivals]) => {
    // a crash may leave a copy in `deliveries.due`, which is posted long afterwards
    const moves = written.get(id)?.map(({ writtenAt }) => writtenAt) ?? []
    const begun = logged.get(id)?.map(({ startedAt }) => startedAt) ?? []
    const times = [...arrivals.map(({ at }) => at), ...begun, ...moves]
    const attempts = arrivals.map(attemptOf)
    // first attempts that were not deferred: the previous test
    const judged = attempts.filter((attempt) => attempt > 1 || deferred.has(id))
    const isRepeated = new Set(judged).size < judged.length
    return isRepeated && crashesNear(times, /./, 2 * COMMITTED_AFTER_MS) === 0
      ? [{ id, times, attempts }]
      : []
  })
  expect(unexplained).toEqual([])
})

test('every POST of a delivery has the same ids and body', () => {
  const byId = Map.groupBy(receiver.arrivals, idOf)
  for (const [id, arrivals] of byId) {
    const same = arrivals.map(({ path, body, headers }) => `${path} ${headers['x-message-id']} ${body}`)
    expect(new Set(same).size, `of delivery ${id}`).toBe(1)
  }
  expect(byId.size).toBe(fleet.accepted.size * 2)
})

test("first attempts that came once began in the order of their user's calls", async () => {
  const attempts = await readAttempts(sluice)
  const begun = new Map<string, number>()
  const firsts = attempts.filter(({ attempt }) => attempt === 1)
  // the delivery may have arrived once
  for (const [deliveryId, [first, ...again]] of Map.groupBy(firsts, ({ deliveryId }) => deliveryId))
    if (first && again.length === 0) begun.set(deliveryId, first.startedAt)
  // a deferred one begins after later ones
  for (const { deliveryId, outcome } of attempts) if (outcome === 'deferred') begun.delete(deliveryId)
  const once = [...Map.groupBy(receiver.arrivals, idOf)].flatMap(([id, arrivals]) => {
    const [{ path, headers }] = arrivals as [Arrival]
    const startedAt = begun.get(id)
    // the last attempts before a kill may not be in the log
    if (startedAt === undefined || arrivals.filter((one) => attemptOf(one) === 1).length !== 1) return []
    const [user = '', made] = String(headers['x-message-id']).split('.')
    return [{ path, user, made: Number(made), startedAt }]
  })
  expect(once.length).toBeGreaterThan(fleet.accepted.size)
  for (const [who, calls] of Map.groupBy(once, ({ path, user }) => `${path} ${user}`)) {
    const started = calls.toSorted((a, b) => a.made - b.made).map(({ startedAt }) => startedAt)
    expect(started, `of ${who}`).toEqual(started.toSorted((a, b) => a - b))
  }
})
