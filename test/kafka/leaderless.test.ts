import { createRequire } from 'node:module'
import { expect, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { quiet } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const { Metadata } = require('kafkajs/src/protocol/requests').requests
const BrokerPool = require('kafkajs/src/cluster/brokerPool')
const OffsetManager = require('kafkajs/src/consumer/offsetManager')

/** Codes of Kafka's protocol guide. */
const LEADER_NOT_AVAILABLE = 5
const LISTENER_NOT_FOUND = 72

const metadataWith = (partitionErrorCode: number, topicErrorCode = 0) => ({
  brokers: [{ nodeId: 1, host: 'kafka', port: 9092 }],
  topicMetadata: [
    {
      topicErrorCode: 0,
      topic: 'events',
      partitionMetadata: [{ partitionErrorCode: 0, partitionId: 0, leader: 1 }],
    },
    {
      topicErrorCode,
      topic: 'foreign',
      partitionMetadata: [
        { partitionErrorCode: 0, partitionId: 0, leader: 1 },
        { partitionErrorCode, partitionId: 1, leader: -1 },
      ],
    },
  ],
})

const parsed = (version: string, topics: string[], metadata: object) =>
  Metadata.protocol({ version })({ topics }).response.parse(metadata)

test.each<string>(Metadata.versions)(
  'a fault of one topic does not fail a request for all topics (version %s)',
  async (version) => {
    for (const metadata of [
      metadataWith(LEADER_NOT_AVAILABLE),
      metadataWith(LISTENER_NOT_FOUND),
      metadataWith(0, LEADER_NOT_AVAILABLE),
    ])
      expect(await parsed(version, [], metadata)).toEqual(metadata)
  },
)

test.each<string>(Metadata.versions)(
  'a partition without a leader does not fail a request that names its topic; other faults do (version %s)',
  async (version) => {
    const topics = ['events', 'foreign']
    const leaderless = metadataWith(LEADER_NOT_AVAILABLE)
    expect(await parsed(version, topics, leaderless)).toEqual(leaderless)
    const unheard = parsed(version, topics, metadataWith(LISTENER_NOT_FOUND))
    await expect(unheard).rejects.toMatchObject({ type: 'LISTENER_NOT_FOUND' })
    const unready = parsed(version, topics, metadataWith(0, LEADER_NOT_AVAILABLE))
    await expect(unready).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' })
  },
)

/** Requests the metadata of topic `foreign`. @returns the ms until the next request, and the logged lines. */
async function refreshed(leader: number) {
  const metadata = metadataWith(0)
  Object.assign(metadata.topicMetadata[1]?.partitionMetadata[1] ?? {}, { leader })
  const error = vi.fn()
  const connectionPool = { host: 'kafka', port: 9092, connectionTimeout: 1 }
  const pool = new BrokerPool({
    connectionPoolBuilder: { build: async () => connectionPool },
    logger: { ...quiet, namespace: () => ({ ...quiet, error }) },
    metadataMaxAge: 300_000,
    retry: { retries: 0 },
  })
  await pool.createSeedBroker()
  Object.assign(pool, { findConnectedBroker: async () => ({ metadata: async () => metadata }) })
  await pool.refreshMetadata(['foreign'])
  return { ms: pool.metadataExpireAt - Date.now(), logged: error.mock.calls.map(([message]) => message) }
}

test('while a partition has no leader, the leaders are asked for every second, and the log names the partition', async () => {
  const leaderless = await refreshed(-1)
  expect(leaderless.ms).toBeLessThanOrEqual(1_000)
  expect(leaderless.logged).toEqual(['partitions have no leader, and their records wait: foreign 1'])
  const led = await refreshed(1)
  expect(led.ms).toBeGreaterThan(200_000)
  expect(led.logged).toEqual([])
})

test('partitions without a commit start, except those without a leader', async () => {
  const leaders = [1, -1, 1]
  const committed = {}
  const asked: unknown[] = []
  const responses = (of: { topic: string; partitions: { partition: number }[] }[]) =>
    of.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((each) => ({ ...each, offset: '-1' })),
    }))
  const cluster = {
    committedOffsets: () => committed,
    findTopicPartitionMetadata: () => leaders.map((leader, partitionId) => ({ partitionId, leader })),
    fetchTopicsOffset: async (of: Parameters<typeof responses>[0]) => {
      asked.push(of)
      return of.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, offset: '7' })),
      }))
    },
  }
  const manager = new OffsetManager({
    cluster,
    coordinator: {
      isConnected: () => true,
      offsetFetch: async ({ topics }: { topics: Parameters<typeof responses>[0] }) => ({
        responses: responses(topics),
      }),
    },
    memberAssignment: { work: [0, 1, 2] },
    topicConfigurations: { work: { fromBeginning: true } },
    groupId: 'work',
  })
  await manager.resolveOffsets()
  expect(committed).toEqual({ work: { 0: '7', 2: '7' } })
  await manager.resolveOffsets()
  expect(asked).toHaveLength(1)
  leaders[1] = 2
  await manager.resolveOffsets()
  expect(committed).toEqual({ work: { 0: '7', 1: '7', 2: '7' } })
})
