import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { readConfig } from '../../config.ts'
import { followLag } from '../../control/activity/lag/follow.ts'
import { groupTopics } from '../../control/activity/lag/observe.ts'
import type { LagItem } from '../../control/activity/lag/status.ts'
import { groupsOf } from '../../harness/kafka/topics.ts'
import { type Offsets, openOffsets } from '../../kafka/admin/offsets.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DELIVERIES, EVENTS, rungTopic } from '../../schemas/topics.ts'
import { aContext } from '../cli/in-memory.ts'
import { aReading } from '../control/lag-in-memory.ts'
import { ownBroker } from '../helpers/broker.ts'
import { closing, connection } from '../helpers/cluster.ts'
import { describeGroups, resetToStart } from '../helpers/consumer-groups.ts'
import { aDelivery } from '../helpers/events.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const SOON = rungTopic('5s')
const LATER = rungTopic('30m')
const READ: Record<string, string[]> = {
  router: [EVENTS],
  deliverer: [DELIVERIES],
  'deliverer.due': ['deliveries.due'],
  'deliverer.rungs': [SOON, LATER],
  'control.tasks': ['tasks'],
}
const PARTITIONS = 2
const CALLS = 20
/** Control observes the lag every 2 s, or less often on a busy machine. */
const SHOWN_MS = 90_000
/** A dead or stuck consumer must be shown within this many observations: 30 s. */
const OBSERVATIONS = 15
/** How far back a status looks, in ms. */
const WINDOW_MS = 20_000

let sluice: System
let receiver: Receiver
let offsets: Offsets
let producer: Producer
let thaw = () => {}

beforeAll(async () => {
  receiver = await startReceiver()
  // the longest timeout that does not change the window of a status
  const settings = { RETRY_LADDER: '5s,30m', RESPONSE_TIMEOUT: '10s', PARTITIONS: String(PARTITIONS) }
  sluice = await startSystem(settings)
  offsets = await openOffsets(sluice.connection)
  await sluice.destination('crm', [`${receiver.url}/ok`])
  producer = await createProducer(sluice.connection)
})

afterAll(async () => {
  thaw()
  await Promise.all([offsets?.close(), producer?.close()])
  await sluice?.close()
  await receiver?.close()
})

type Answer = { items: LagItem[]; at: string }

async function lag(query = ''): Promise<Answer> {
  const { status, body } = await sluice.api('get', `lag${query}`)
  expect(status).toBe(200)
  return body as Answer
}

const lagOf = async (group: string, topic: string) => (await lag(`?group=${group}&topic=${topic}`)).items
const sum = (items: readonly LagItem[]) => items.reduce((all, item) => all + item.lag, 0)

/** Fails with what the view showed instead. */
async function shown(group: string, topic: string, isSo: (items: LagItem[]) => boolean) {
  const observed = new Set<string>()
  let items: LagItem[] = []
  const observe = async () => {
    const answer = await lag(`?group=${group}&topic=${topic}`)
    observed.add(answer.at)
    items = answer.items
    return items.length > 0 && isSo(items)
  }
  await until(observe, { timeout: SHOWN_MS, message: () => `${group} ${topic}: ${JSON.stringify(items)}` })
  return { items, observations: observed.size }
}

async function shownSoon(...what: Parameters<typeof shown>): Promise<LagItem[]> {
  const { items, observations } = await shown(...what)
  expect(observations).toBeLessThanOrEqual(OBSERVATIONS)
  return items
}

const all = (status: LagItem['status']) => (items: LagItem[]) =>
  items.every((item) => item.status === status && item.lag > 0)

let calls = 0
/** Sends calls of so many users that each partition gets some. @returns when, in ms since 1970 */
async function send(): Promise<number> {
  const at = Date.now()
  const batch = Array.from({ length: CALLS }, () => ({
    type: 'track',
    event: 'Paid',
    userId: `user-${calls}`,
    messageId: `call-${calls++}`,
  }))
  await sluice.send(batch)
  return at
}

/** Writes a delivery into each partition of a rung; its destination is missing. @returns when, in ms since 1970 */
async function wait(rung: string, delayMs: number): Promise<number> {
  const registry = openRegistry(readConfig(sluice.env, 'control').registry)
  const { encode } = await openCodec(registry, 'delivery', `${sluice.connection.named(rung)}-value`)
  const value = encode(aDelivery({ destinationId: 'gone' }))
  const at = Date.now()
  const headers = { dueAt: String(at + delayMs) }
  const records = Array.from({ length: CALLS }, (_, each) => ({
    topic: rung,
    partition: each % PARTITIONS,
    key: 'gone/u',
    value,
    headers,
  }))
  expect(await producer.produce(records)).toBe('acked')
  return at
}

/** All records that a topic ever had. */
async function ended(topic: string): Promise<number> {
  return (await offsets.bounds(topic)).reduce((records, { end }) => records + end, 0)
}

/** @returns, in ms since 1970, `before`, when no partition was behind yet, and `after`, when each was */
async function watching(group: string, topic: string): Promise<() => Promise<Between>> {
  const begun = Date.now()
  let before = 0
  const observe = async () => {
    const { items, at } = await lag(`?group=${group}&topic=${topic}`)
    if (items.every(({ lagSeconds }) => lagSeconds === 0)) before = Date.parse(at)
    return items.every(({ lagSeconds }) => lagSeconds) && Date.parse(at)
  }
  await until(async () => {
    await observe()
    return before > begun
  })
  const behind = until(observe, { timeout: SHOWN_MS, message: `${group} ${topic} is behind` })
  behind.catch(() => undefined)
  return async () => ({ after: await behind, before })
}
type Between = { before: number; after: number }

type Problem = { code: string; group: string | null; since: string }

const problems = async () => (await sluice.api('get', 'status')).body.problems as Problem[]

/** `at`: in ms since 1970. */
type Report = { problem: Problem; at: number; observations: number }

async function whenTold(group: string): Promise<Report> {
  const observed = new Set<string>()
  const look = async () => {
    observed.add((await lag()).at)
    return (await problems()).find((one) => one.group === group)
  }
  const problem = await until(look, { timeout: SHOWN_MS, message: `a problem of ${group} is reported` })
  return { problem, at: Date.now(), observations: observed.size }
}
let toldOfRouter: ReturnType<typeof whenTold>

const operator = () =>
  aContext({ env: { SLUICE_URL: sluice.control, CONTROL_TOKEN: String(sluice.env.CONTROL_TOKEN) } })

async function sluiceStatus() {
  const context = operator()
  return { code: await run(['status'], context), out: context.out.text() }
}

/** When records that nobody settles were sent, in ms since 1970, and when their lag was observed. */
const sent = { events: 0, deliveries: 0, soon: 0 }
const seen: Partial<Record<keyof typeof sent, Between>> = {}

test('lists every consumer group with every partition that it reads, and no other group', async () => {
  const { items } = await lag()
  const told = items.map(({ group, topic, partition }) => `${group} ${topic} ${partition}`)
  const expected = Object.entries(READ).flatMap(([group, topics]) =>
    topics.flatMap((topic) =>
      Array.from({ length: topic === 'tasks' ? 1 : PARTITIONS }, (_, each) => `${group} ${topic} ${each}`),
    ),
  )
  expect(told.toSorted()).toEqual(expected.toSorted())
  // these, and those that never commit
  const own = (await groupsOf(sluice.connection, '')).map(sluice.connection.plain)
  expect(own.filter((group) => !/^(table|reader|tail)\./.test(group)).toSorted()).toEqual(
    Object.keys(READ).toSorted(),
  )
})

test('settled records are no lag', async () => {
  await send()
  await wait(SOON, 0)
  const isDone = (items: LagItem[]) => items.every((item) => item.committed === item.end && item.end > 0)
  const done = { router: EVENTS, deliverer: DELIVERIES, 'deliverer.rungs': SOON }
  for (const [group, topic] of Object.entries(done)) {
    const { items } = await shown(group, topic, isDone)
    expect(items).toMatchObject(items.map(() => ({ lag: 0, lagSeconds: 0, status: 'ok' })))
  }
})

test('records waiting on a rung until they are due count as lag in records, but not in seconds', async () => {
  await wait(LATER, 30 * 60_000)
  const { items } = await shown('deliverer.rungs', LATER, (each) => sum(each) === CALLS)
  expect(items).toMatchObject(items.map(() => ({ lagSeconds: 0, status: 'ok' })))
  expect((await lag()).items.filter(({ status }) => status !== 'ok')).toEqual([])
})

test('shows a dead and a stuck consumer as stalled within 30 s', async () => {
  const [soon, deliveries] = await Promise.all([
    watching('deliverer.rungs', SOON),
    watching('deliverer', DELIVERIES),
  ])
  sent.soon = await wait(SOON, 5_000)
  await sluice.kill('deliverer')
  const routed = await ended(DELIVERIES)
  sent.deliveries = await send()
  await until(async () => (await ended(DELIVERIES)) === routed + CALLS)
  const events = await watching('router', EVENTS)
  thaw = sluice.freeze('router')
  sent.events = await send()
  toldOfRouter = whenTold('router')
  toldOfRouter.catch(() => undefined)
  Object.assign(seen, { soon: await soon(), deliveries: await deliveries(), events: await events() })
  await Promise.all([
    shownSoon('deliverer', DELIVERIES, all('stop')),
    shownSoon('router', EVENTS, all('stop')),
  ])
}, 480_000)

test('a frozen router is reported as a problem within 30 s, with the stuck events, since when, and what to do', async () => {
  const { problem, at, observations } = await toldOfRouter
  expect(observations).toBeLessThanOrEqual(OBSERVATIONS)
  expect(problem).toMatchObject({
    code: expect.stringMatching(/^group_(stalled|stopped)$/),
    severity: 'error',
    message: expect.stringMatching(
      /^Consumer group router .* any of its partitions: 20 records wait, .* Accepted events are not forwarded\.$/,
    ),
    action: expect.stringContaining('router'),
    page: '/lag',
  })
  // `since` is the first observation after the freeze
  const since = Date.parse(problem.since)
  // timers may fire a millisecond early
  expect(since).toBeGreaterThan((seen.events?.before ?? Number.NaN) - 100)
  expect(since).toBeLessThanOrEqual(at - WINDOW_MS)
  // members leave the group meanwhile: the problem stays the same
  await until(async () => (await problems()).some(({ code }) => code === 'group_stopped'))
  const [router] = (await problems()).filter(({ group }) => group === 'router')
  expect(router?.since).toBe(problem.since)
})

test('sluice status exits with 2 while something is wrong', async () => {
  const { code, out } = await sluiceStatus()
  expect([code, out]).toEqual([2, expect.stringContaining('error: group_stopped since ')])
  expect(out).toContain('Start the deliverer. If it runs, read its log, and restart it if it hangs.')
})

test('shows a rung whose records stay past due', async () => {
  await shownSoon('deliverer.rungs', SOON, all('stop'))
  expect(await lagOf('deliverer.rungs', LATER)).toMatchObject([
    { lagSeconds: 0, status: 'ok' },
    { lagSeconds: 0, status: 'ok' },
  ])
})

test('the figures match Kafka’s own tool', async () => {
  const { items } = await lag()
  const theirs = await describeGroups(sluice.connection, Object.keys(READ))
  const ours = theirs.map(({ group, topic, partition }) =>
    items.find((item) => item.group === group && item.topic === topic && item.partition === partition),
  )
  // uncommitted partitions have no lag
  expect(ours).toMatchObject(theirs.map((line) => ({ ...line, lag: line.lag ?? expect.any(Number) })))
  const behind = theirs.filter((line) => line.lag).map(({ topic }) => topic)
  expect(new Set(behind)).toEqual(new Set([EVENTS, DELIVERIES, SOON]))
})

test.each([
  ['router', EVENTS, 'events', 0],
  ['deliverer', DELIVERIES, 'deliveries', 0],
  ['deliverer.rungs', SOON, 'soon', 5],
] as const)(
  'the age of the oldest record of %s is as exact as the sampling',
  async (group, topic, came, delayS) => {
    const { items, at } = await lag(`?group=${group}&topic=${topic}`)
    const { before = 0, after = 0 } = seen[came] ?? {}
    expect(after).toBeGreaterThan(sent[came] + delayS * 1_000)
    const secondsSince = (time: number) => (Date.parse(at) - time) / 1_000
    // the figure has one decimal
    for (const { lagSeconds } of items) {
      expect(lagSeconds).toBeGreaterThan(secondsSince(after) - 0.1)
      expect(lagSeconds).toBeLessThan(secondsSince(before) + 0.1)
    }
  },
)

test('shows a group whose offsets were reset', async () => {
  await resetToStart(sluice.connection, { group: 'deliverer', topic: DELIVERIES })
  const items = await shownSoon('deliverer', DELIVERIES, all('rewind'))
  for (const { committed, end, lag: records } of items) expect([committed, records]).toEqual([0, end])
})

test('another control process shows the same states and since when', async () => {
  await sluice.stop('control')
  await sluice.start('control')
  const { items, at } = await lag(`?group=router`)
  const waits = (Date.parse(at) - sent.events) / 1_000
  for (const { lag: records, lagSeconds } of items) {
    expect(records).toBeGreaterThan(0)
    expect(lagSeconds).toBeGreaterThan(waits / 2)
    expect(lagSeconds).toBeLessThan(waits * 2)
  }
})

async function nothingIsBehind(): Promise<void> {
  const isDone = ({ topic, lag: records }: LagItem) => topic === LATER || records === 0
  let items: LagItem[] = []
  await until(
    async () => {
      items = (await lag()).items
      return items.every((item) => item.status === 'ok' && item.lagSeconds === 0 && isDone(item))
    },
    { timeout: SHOWN_MS, message: () => JSON.stringify(items) },
  )
}

test('after the consumers resume nothing is behind', async () => {
  thaw()
  await sluice.start('deliverer')
  await nothingIsBehind()
})

test('when nothing is behind nothing is wrong, and sluice status exits with 0', async () => {
  await until(async () => (await problems()).length === 0)
  expect(await sluiceStatus()).toEqual({ code: 0, out: 'OK: nothing is wrong.' })
})

test('shows a live consumer that makes no progress within its time limit', async () => {
  await sluice.destination('hangs', [`${receiver.url}/hang`])
  const follower = closing(
    followLag({
      open: () => openOffsets(sluice.connection),
      groupTopics: (topics) => groupTopics(topics, []),
      required: [],
      onFailed: () => {},
      everyMs: 200,
      observations: 4,
    }),
  )
  const statuses = () =>
    follower
      .latest()
      ?.items.filter(({ group }) => group === 'deliverer')
      .map(({ status }) => status)
  await follower.loaded
  await send()
  await until(() => statuses()?.includes('stall'), { message: () => String(statuses()) })
  await until(() => statuses()?.every((status) => status === 'ok'), { timeout: 60_000 })
  // otherwise, its retries would disturb later tests
  await sluice.api('delete', 'destinations/hangs')
  await nothingIsBehind()
})

test('shows a replay while it runs', async () => {
  const replay = { id: 'again', destinationId: 'crm', what: 'events', perSecond: 1 }
  expect(await sluice.api('post', 'replays', replay)).toMatchObject({ status: 202 })
  const { items } = await shown('replay.again', EVENTS, (each) => sum(each) > 0)
  expect(items).toMatchObject(items.map(() => ({ lagSeconds: null, status: 'ok' })))
  await sluice.api('delete', 'replays/again')
  await until(async () => (await lagOf('replay.again', EVENTS)).length === 0)
  // only the markers of transactions remain
  const { items: tasks } = await shown('control.tasks', 'tasks', (each) => sum(each) <= 1)
  expect(tasks[0]).toMatchObject({ lagSeconds: 0, status: 'ok' })
})

test('the metrics match, and have no series of deleted groups', async () => {
  const metrics = async () => (await fetch(`${sluice.control}/metrics`)).text()
  const [first] = await lagOf('deliverer.rungs', LATER)
  const labels = `consumergroup="deliverer.rungs",topic="${LATER}",partition="0"`
  expect(await metrics()).toContain(`kafka_consumergroup_lag{${labels}} ${first?.lag}\n`)
  expect(await metrics()).toContain(`kafka_consumergroup_lag_seconds{${labels}} 0\n`)
  expect(await metrics()).toContain(`sluice_control_lag_status{${labels},status="ok"} 1\n`)
  const bounds = (await offsets.bounds(EVENTS)).find(({ partition }) => partition === 0)
  const place = `topic="${EVENTS}",partition="0"`
  // offsets are committed soon after
  await until(async () =>
    (await metrics()).includes(
      `kafka_consumergroup_current_offset{consumergroup="router",${place}} ${bounds?.end}\n`,
    ),
  )
  expect(await metrics()).toContain(`kafka_topic_partition_current_offset{${place}} ${bounds?.end}\n`)
  expect(await metrics()).toContain(`kafka_topic_partition_oldest_offset{${place}} ${bounds?.low}\n`)
  expect(await metrics()).toContain(`kafka_topic_partitions{topic="${EVENTS}"} ${PARTITIONS}\n`)
  await sluice.stop('deliverer')
  const admin = sluice.connection.kafka.admin()
  await admin.connect()
  await admin.deleteTopics({ topics: [sluice.connection.named(LATER)] })
  await admin.disconnect()
  const missing = `sluice_topic_missing{topic="${LATER}"} 1\n`
  const onlyMissing = (text: string) => text.includes(missing) && !text.replace(missing, '').includes(LATER)
  await until(async () => onlyMissing(await metrics()), { timeout: SHOWN_MS })
  expect(await problems()).toMatchObject([{ code: 'topic_missing', message: expect.stringContaining(LATER) }])
  const { items, at } = await lag()
  expect(items.map(({ topic }) => topic)).toContain(SOON)
  expect(items.map(({ topic }) => topic)).not.toContain(LATER)
  await until(async () => (await lag()).at > at)
})

test('without topic events the router is shown as blocked, not left out', async () => {
  const admin = sluice.connection.kafka.admin()
  await admin.connect()
  await admin.deleteTopics({ topics: [sluice.connection.named(EVENTS)] })
  await admin.disconnect()
  const blocked = async () => (await sluice.api('get', 'lag?group=router')).body.blocked
  await until(async () => JSON.stringify(await blocked()) === '[{"group":"router","topic":"events"}]')
  const context = operator()
  expect(await run(['lag'], context)).toBe(0)
  expect(context.out.text()).toMatch(/^router +events +0 +- +- +topic missing$/m)
  expect(await problems()).toMatchObject([
    {
      code: 'topic_missing',
      message: 'Kafka has no topic events. Calls are refused (503), and nothing is forwarded.',
    },
    {},
  ])
})

test('recovers after an outage of Kafka', async () => {
  const broker = await ownBroker()
  const kafka = await connection([{}], broker.now.brokers)
  const follower = closing(
    followLag({
      open: () => openOffsets(kafka),
      groupTopics: () => [aReading({ topic: 'work' })],
      required: [],
      onFailed: () => {},
      everyMs: 100,
    }),
  )
  await follower.loaded
  await broker.restart('kill')
  const back = Date.now()
  await until(() => (follower.latest()?.at ?? 0) > back)
  expect(follower.latest()?.items).toHaveLength(4)
})
