import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import got from 'got'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ATTEMPTS, DELIVERIES, DUE, EVENTS, REJECTED, SEEN } from '../../schemas/topics.ts'
import { ended, lag } from '../helpers/cluster.ts'
import { readAttempts } from '../helpers/decoded.ts'
import { afterRequest } from '../helpers/raw-receiver.ts'
import { aReceiver, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** As much of an answer as is kept. */
const BODY = 'x'.repeat(1_024)
/** More than the log keeps in memory: 16 MB. */
const MANY = 12_000

const track = (event: string) => ({ type: 'track', userId: 'u1', event })
const partitions = 4

/** Long answers: few attempts fill the log. */
async function aTalker(): Promise<{ url: string; posts(): number }> {
  let posts = 0
  const server = createServer((request, response) => {
    posts += 1
    request.resume().on('end', () => response.end(BODY))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posts: () => posts }
}

/** Answers 503, but not before it is told to. */
async function aWaiter() {
  const { promise: isTold, resolve: letGo } = Promise.withResolvers<void>()
  let isAsked = false
  const url = await afterRequest(async (socket) => {
    isAsked = true
    await isTold
    socket.end('HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  return { url, isAsked: () => isAsked, letGo }
}

async function unlogged({ env }: System): Promise<number> {
  const metrics = await got(`http://127.0.0.1:${env.DELIVERER_PORT}/metrics`).text()
  return Number(/^sluice_deliverer_attempts_unlogged_total (\d+)/m.exec(metrics)?.[1])
}

async function admin<T>({ connection }: System, work: (admin: Admin) => Promise<T>): Promise<T> {
  const open = connection.kafka.admin()
  await open.connect()
  return work(open).finally(() => open.disconnect())
}
type Admin = ReturnType<System['connection']['kafka']['admin']>

const remove = (sluice: System, topic: string) =>
  admin(sluice, (open) => open.deleteTopics({ topics: [sluice.connection.named(topic)] }))
const make = (sluice: System, name: string, numPartitions = partitions) =>
  admin(sluice, async (open) => {
    const topic = sluice.connection.named(name)
    await open.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: false })
    // kafkajs fails instead of waiting if the broker has not heard of the topic yet
    await until(async () => {
      const { topics } = await open.fetchTopicMetadata({ topics: [topic] }).catch(() => ({ topics: [] }))
      return topics[0]?.partitions.every(({ leader }) => leader >= 0) ?? false
    })
  })

const saysOf = (sluice: System, said: string) =>
  sluice.logged('deliverer').filter(({ level, msg }) => level !== 'debug' && msg.includes(said))

describe('a topic that deliveries do not need', () => {
  let sluice: System

  beforeAll(async () => {
    sluice = await startSystem({ RETRY_LADDER: '2s,2s,2s', PARTITIONS: String(partitions) })
  })
  afterAll(async () => void (await sluice?.close()))

  test('attempts, deleted: deliveries continue, dropped attempts are counted, and writing resumes when it is back', async () => {
    const talker = await aTalker()
    const receiver = await aReceiver()
    await sluice.destination('talker', [talker.url])
    await sluice.destination('flaky', [`${receiver.url}/flaky/1`], { eventTypes: ['identify'] })
    const failing = await aWaiter()
    await sluice.destination('failing', [failing.url], { eventTypes: ['page'] })
    await sluice.send([track('Before')])
    await until(async () => (await readAttempts(sluice)).length === 1, { message: 'an attempt is logged' })
    await remove(sluice, ATTEMPTS)

    // its destination is off before it waits on a rung, and the deliverer knows so before its last attempt
    await sluice.send([{ type: 'page', userId: 'u1' }])
    await until(failing.isAsked)
    const { body } = await sluice.api('get', 'destinations/failing')
    const off = { ...body, enabled: false }
    const ifMatch = { 'if-match': String(body.version) }
    const { status } = await sluice.api('put', 'destinations/failing', off, ifMatch)
    expect(status).toBe(200)
    failing.letGo()

    for (let sent = 0; sent < MANY; sent += 500)
      await sluice.send(Array.from({ length: 500 }, () => track('Many')))
    await until(() => talker.posts() > MANY, { timeout: 180_000, message: () => `${talker.posts()} POSTs` })
    await until(async () => (await unlogged(sluice)) > 0, { message: 'what is dropped is counted' })
    await until(() => saysOf(sluice, 'Kafka does not take writes').length === 1, {
      message: 'a line says which topic takes no writes',
    })
    expect(saysOf(sluice, 'Kafka does not take writes')).toMatchObject([
      { topics: [sluice.connection.named(ATTEMPTS)] },
    ])
    expect(saysOf(sluice, 'they are dropped and counted')).toMatchObject([{ topic: ATTEMPTS }])

    // rungs are written with nothing of attempts
    await sluice.send(Array.from({ length: 10 }, (_, user) => ({ type: 'identify', userId: `${user}` })))
    const delivered = () =>
      receiver.arrivals.filter(({ path, status }) => path === '/flaky/1' && status === 200)
    await until(() => delivered().length === 10, { message: () => `${delivered().length} were delivered` })
    // cancelled deliveries wait on a rung, and block nothing
    for (const of of [
      { group: 'deliverer', topic: DELIVERIES },
      { group: 'deliverer.due', topic: DUE },
    ])
      await until(async () => (await lag(sluice.connection, of)) === 0, {
        message: `${of.group} has read all`,
      })

    await make(sluice, ATTEMPTS)
    await sluice.send([{ type: 'identify', userId: 'last' }])
    const logged = async () => await readAttempts(sluice)
    const has = async (destination: string, outcome: string) =>
      (await logged()).some((one) => one.destinationId === destination && one.outcome === outcome)
    await until(() => has('flaky', 'delivered'), { message: 'attempts are logged again' })
    await until(() => has('failing', 'cancelled'), { message: 'what was cancelled is logged' })
    await until(() => saysOf(sluice, 'Kafka takes these records again').length === 1, {
      message: () => `one line says that writing goes on: ${JSON.stringify(saysOf(sluice, 'these records'))}`,
    })
    expect(saysOf(sluice, 'Kafka takes writes again')).toHaveLength(1)
  }, 480_000)

  test('routing continues if router.seen is deleted and created again with fewer partitions', async () => {
    const receiver = await aReceiver()
    await sluice.destination('seen', [receiver.url])
    await remove(sluice, SEEN)
    await sluice.send(Array.from({ length: 10 }, (_, user) => ({ ...track('Seen'), userId: `${user}` })))
    await until(() => receiver.arrivals.length === 10)
    await sluice.send(Array.from({ length: 10 }, (_, user) => ({ ...track('Seen'), userId: `${user}` })))
    await until(() => receiver.arrivals.length === 20)
    const of = { group: 'router', topic: EVENTS }
    const commits = async () => (await lag(sluice.connection, of)) === 0
    await until(commits, { message: 'the router commits' })
    await make(sluice, SEEN, 1)
    // once the router knows of the partition, it writes there
    await until(async () => {
      await sluice.send(Array.from({ length: 10 }, (_, user) => ({ ...track('Seen'), userId: `${user}` })))
      return (await ended(sluice.connection, SEEN)) > 0
    })
    await sluice.send([track('Last')])
    await until(() => receiver.arrivals.some(({ body }) => JSON.parse(body).event === 'Last'))
    await until(commits, { message: 'the router commits again' })
  })

  test('events.rejected, deleted: calls are still accepted', async () => {
    await remove(sluice, REJECTED)
    const post = async (batch: object[]) => {
      const began = performance.now()
      const options = { json: { batch }, username: 'shop-write-key', retry: { limit: 0 } }
      const { rejected } = await got
        .post(`${sluice.ingest}/v1/batch`, options)
        .json<{ rejected?: object[] }>()
      return { rejected: rejected?.length, ms: performance.now() - began }
    }
    expect(await post([track('Good'), { type: 'track' }])).toMatchObject({ rejected: 1 })
    for (let times = 0; times < 5; times++) {
      const { rejected, ms } = await post([track('Good'), { type: 'track' }])
      expect(rejected).toBe(1)
      expect(ms).toBeLessThan(5_000)
    }
    expect((await post([track('Good')])).rejected).toBeUndefined()
    await make(sluice, REJECTED)
  })
})
