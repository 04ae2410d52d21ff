import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { deliveredAt } from '../../harness/arrivals.ts'
import { watchBrokers } from '../../harness/kafka/partitions.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import { startOpenLoad } from '../../harness/open-load.ts'
import { type Connection, connect } from '../../kafka/client.ts'
import { partitionOf } from '../../kafka/produce/partition.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { prepareKafka } from '../../schemas/prepare-kafka.ts'
import { DELIVERIES, EVENTS, SEEN } from '../../schemas/topics.ts'
import { startOwnCluster } from '../helpers/broker.ts'
import { closing, connectTo, readAll, untilServed } from '../helpers/cluster.ts'
import { aReceiver, startIngest, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** For three brokers and four processes on a busy machine. */
const BUSY_MS = 90_000

let cluster: Awaited<ReturnType<typeof startOwnCluster>>
beforeAll(async () => {
  cluster = await startOwnCluster()
})
afterAll(() => cluster?.close())

/** @returns what is logged about REPLICATION, which is not set */
async function saidOf(brokers: string): Promise<string[]> {
  const env = {
    KAFKA_BROKERS: brokers,
    SCHEMA_REGISTRY_URL: inject('registryUrl'),
    TOPIC_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    PARTITIONS: '1',
    CONFIG_KEY: Buffer.alloc(32, 'key 7 of the tests').toString('base64'),
  }
  const config = readConfig(env, 'router')
  const said: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void said.push(JSON.parse(line).msg) })
  const connection = connect(config.kafka, { clientId: 'test', log })
  await prepareKafka(connection, config, () => undefined)
  const admin = connection.kafka.admin()
  await admin.connect()
  const made = (await admin.listTopics()).filter((name) => name.startsWith(env.TOPIC_PREFIX))
  await admin.deleteTopics({ topics: made })
  await admin.disconnect()
  return said.filter((line) => line.includes('REPLICATION'))
}

const runFile = promisify(execFile)

/** The output of ops/kafka/healthy.sh; undefined if the broker is healthy. */
async function unhealthy(index: number): Promise<string | undefined> {
  const [host = '', port = ''] = cluster.brokers.split(',')[index]?.split(':') ?? []
  return runFile('ops/kafka/healthy.sh', [`${index + 1}`, host, port]).then(
    () => undefined,
    ({ stdout }: { stdout: string }) => stdout.trim(),
  )
}

test('a broker is healthy if it has joined the cluster and all partitions have leaders', async () => {
  const areHealthy = async () => (await Promise.all([0, 1, 2].map(unhealthy))).every((reason) => !reason)
  await until(areHealthy, { timeout: BUSY_MS })
  const [host = '', port = ''] = cluster.brokers.split(',')[1]?.split(':') ?? []
  await expect(runFile('ops/kafka/healthy.sh', ['7', host, port])).rejects.toMatchObject({
    stdout: 'broker 7 has not joined the cluster, or is fenced\n',
  })
  const { kafka } = connectTo(cluster.brokers)
  const topic = 'only-on-the-third'
  const replicaAssignment = [{ partition: 0, replicas: [3] }]
  await withAdmin({ kafka }, async (admin) => {
    await admin.createTopics({ topics: [{ topic, replicaAssignment }], waitForLeaders: false })
    await untilServed(admin, topic)
  })
  await until(areHealthy, { timeout: BUSY_MS })
  await cluster.nodes[2]?.kill()
  await until(async () => (await unhealthy(0)) === '1 partitions have no leader', { timeout: BUSY_MS })
  expect(await unhealthy(2)).toMatch(/does not accept connections$/)
  await cluster.restart(2)
  await until(areHealthy, { timeout: BUSY_MS })
  await withAdmin({ kafka }, (admin) => admin.deleteTopics({ topics: [topic] }))
}, 400_000)

test('three brokers with a REPLICATION of 1 cause one warning at the start; one broker causes none', async () => {
  expect(await saidOf(cluster.brokers)).toEqual([
    'REPLICATION is 1 on a cluster of 3 brokers: a new topic loses its records with its broker',
  ])
  expect(await saidOf(inject('kafkaBrokers'))).toEqual([])
})

type At = { topic: string; partition: number }

/** Moves these partitions to the third broker: while it is down, they have no leader. */
const leaveOnThird = ({ kafka, named }: Connection, partitions: readonly At[]) =>
  withAdmin({ kafka }, async (admin) => {
    const topics = partitions.map(({ topic, partition }) => ({
      topic: named(topic),
      partitionAssignment: [{ partition, replicas: [3] }],
    }))
    await admin.alterPartitionReassignments({ topics })
    const isThere = async ({ topic, partition }: At) => {
      const [found] = (await admin.fetchTopicMetadata({ topics: [named(topic)] })).topics
      const isr = found?.partitions.find(({ partitionId }) => partitionId === partition)?.isr
      return isr?.length === 1 && isr[0] === 3
    }
    await until(async () => (await Promise.all(partitions.map(isThere))).every(Boolean), { timeout: BUSY_MS })
  })

test('partitions without a leader do not stop others, even in new processes, and continue with a leader', async () => {
  const settings = { KAFKA_BROKERS: cluster.brokers, REPLICATION: '3', PARTITIONS: '3' }
  const [system, receiver] = await Promise.all([startSystem(settings).then(closing), aReceiver()])
  await system.destination('crm', [`${receiver.url}/crm`])
  const leaderless = [
    { topic: EVENTS, partition: 0 },
    { topic: DELIVERIES, partition: 1 },
    { topic: SEEN, partition: 0 },
  ]
  await leaveOnThird(system.connection, leaderless)
  const delivered = deliveredAt(receiver)
  const isDelivered = ({ messageId }: { messageId: string }) => delivered('/crm', messageId)
  const load = startOpenLoad({ urls: [system.ingest], writeKey: 'shop-write-key', perSecond: 20 })
  await until(() => load.calls.length > 20 && load.calls.slice(0, 20).every(isDelivered), {
    timeout: BUSY_MS,
  })

  // after a kill, Kafka 4.3 would wait for the replicas that were moved away
  await cluster.nodes[2]?.stop()
  const isOn = (key: string, partition: number) => partitionOf(Buffer.from(key), 3) === partition
  type Call = (typeof load.calls)[number]
  const hasLeader = ({ userId }: Call) => !isOn(`shop/${userId}`, 0)
  const hasLeaders = (call: Call) => hasLeader(call) && !isOn(`crm/${call.userId}`, 1)
  async function goesOn(): Promise<void> {
    const before = load.calls.length
    const later = () => load.calls.slice(before, before + 100)
    const left = () => [
      ...later().filter((call) => hasLeader(call) && call.acceptedAt === undefined),
      ...later().filter((call) => hasLeaders(call) && !isDelivered(call)),
    ]
    await until(() => later().length === 100 && left().length === 0, {
      timeout: BUSY_MS,
      message: () => `left: ${JSON.stringify(left())}`,
    })
    expect(later().filter((call) => !hasLeader(call)).length).toBeGreaterThan(0)
    expect(later().some((call) => !hasLeader(call) && call.acceptedAt !== undefined)).toBe(false)
  }
  await goesOn()
  // their groups join again
  await Promise.all([system.another('router'), system.another('deliverer')])
  await (await startIngest(system)).kill()
  await goesOn()
  const said = `have no leader, and their records wait: ${system.connection.named(DELIVERIES)} 1`
  await until(() => system.logged('deliverer').some(({ msg }) => msg.includes(said)), { timeout: BUSY_MS })

  await cluster.restart(2)
  await load.drain()
  await until(() => load.calls.every(isDelivered), { timeout: BUSY_MS, message: 'all is delivered' })
}, 600_000)

test('a partition with too few in-sync replicas does not hold up others, and is written once it has enough', async () => {
  const connection = connectTo(cluster.brokers)
  const topic = connection.named('work')
  const replicaAssignment = [2, 3].map((broker, partition) => ({ partition, replicas: [1, broker] }))
  const configEntries = [{ name: 'min.insync.replicas', value: '2' }]
  await withAdmin(connection, async (admin) => {
    const topics = [{ topic, replicaAssignment, configEntries }]
    await admin.createTopics({ topics, waitForLeaders: false })
    await untilServed(admin, topic)
  })
  const producer = closing(await createProducer(connection))
  const write = (partition: number, value: string) =>
    producer.produce([{ topic: 'work', partition, key: 'k', value }])
  expect(await Promise.all([write(0, 'a'), write(1, 'a')])).toEqual(['acked', 'acked'])

  await cluster.nodes[2]?.stop()
  const waiting = ['b', 'c'].map((value) => write(1, value))
  for (const value of ['b', 'c', 'd']) expect(await write(0, value)).toBe('acked')
  await until(() => producer.unwritableMs() > 0, { timeout: BUSY_MS })
  await cluster.restart(2)
  expect(await Promise.all([...waiting, write(1, 'd')])).toEqual(['acked', 'acked', 'acked'])
  const written = (await readAll(connection, 'work')).map(({ partition, value }) => `${partition} ${value}`)
  expect(written.toSorted()).toEqual(
    [0, 1].flatMap((partition) => [...'abcd'].map((of) => `${partition} ${of}`)),
  )
}, 600_000)

/** Each broker has the only copy of a partition, which has no leader while that broker is down. */
const createForeignTopic = (connection: Connection) =>
  withAdmin(connection, (admin) =>
    admin.createTopics({
      topics: [
        {
          topic: 'foreign',
          replicaAssignment: [1, 2, 3].map((broker, partition) => ({ partition, replicas: [broker] })),
        },
      ],
      waitForLeaders: false,
    }),
  )

test('under load, the leading of three brokers is paused and later killed: accepted calls are delivered without it, and an ingest starts', async () => {
  const settings = { KAFKA_BROKERS: cluster.brokers, REPLICATION: '3', PARTITIONS: '3' }
  const [system, receiver] = await Promise.all([startSystem(settings).then(closing), aReceiver()])
  const brokers = closing(await watchBrokers(system.connection, cluster))
  await createForeignTopic(system.connection)
  await system.destination('crm', [`${receiver.url}/crm`])
  const delivered = deliveredAt(receiver)
  const isDelivered = ({ messageId }: { messageId: string }) => delivered('/crm', messageId)
  const load = startOpenLoad({ urls: [system.ingest], writeKey: 'shop-write-key', perSecond: 20 })
  await until(() => load.calls.length > 20 && load.calls.slice(0, 20).every(isDelivered), {
    timeout: BUSY_MS,
  })
  const leader = async () => {
    const leads = await brokers.leads()
    const node = cluster.nodes[leads.indexOf(Math.max(...leads))]
    if (!node) throw new Error('nobody leads')
    return node
  }
  const goesOn = async () => {
    const before = load.calls.length
    const later = () => load.calls.slice(before + 20, before + 40)
    const accepted = () => later().filter(({ acceptedAt }) => acceptedAt !== undefined)
    // 3 to 20 s next to three busy loops: the other brokers must notice first, and choose leaders
    await until(() => later().length === 20 && later().every(isDelivered), {
      timeout: BUSY_MS,
      message: () =>
        `what is made without it is delivered: of ${later().length} calls ${accepted().length} are accepted, ${later().filter(isDelivered).length} delivered`,
    })
  }

  const silent = await leader()
  process.kill(silent.pid, 'SIGSTOP')
  await goesOn()
  await (await startIngest(system)).kill()
  process.kill(silent.pid, 'SIGCONT')
  await brokers.inSync()

  await (await leader()).kill()
  await goesOn()
  await load.drain()
  await until(() => load.calls.every(isDelivered), { timeout: BUSY_MS, message: 'all is delivered' })
  expect(load.calls.every(({ acceptedAt }) => acceptedAt !== undefined)).toBe(true)
}, 600_000)
