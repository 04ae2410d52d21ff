import { createRequire } from 'node:module'
import { expect, test, vi } from 'vitest'
import '../../kafka/client.ts' // has the client follow moves
import { aMember } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

const require = createRequire(import.meta.url)
const Runner = require('kafkajs/src/consumer/runner')
const { KafkaJSConnectionError, KafkaJSProtocolError } = require('kafkajs/src/errors')
const { createErrorFromCode } = require('kafkajs/src/protocol/error')

const UNEXPECTED = -1
const NOT_LEADER = 6
const LOADING = 14
const NOT_COORDINATOR = 16
const REBALANCING = 27
const STORAGE_ERROR = 56
const gone = () => new KafkaJSConnectionError('Connection error', { code: 'ECONNREFUSED' })

function member(coordinator: object, next: object = {}) {
  const cluster = { refreshMetadata: vi.fn(async () => {}), findGroupCoordinator: vi.fn(async () => next) }
  const group = aMember({ cluster })
  const joinAndSync = vi.fn(async () => {})
  Object.assign(group, { coordinator, memberId: 'me', generationId: 3, lastRequest: 0, joinAndSync })
  group.offsetManager = { coordinator, commitOffsets: async () => coordinator }
  return { group, cluster, joinAndSync }
}

test.each([
  ['is gone', gone()],
  ['does not coordinate the group any more', createErrorFromCode(NOT_COORDINATOR)],
  ['loads the group', createErrorFromCode(LOADING)],
  ['has an unexpected error', createErrorFromCode(UNEXPECTED)],
])(
  'a coordinator that %s is looked up at the next heartbeat, and the member stays in the group',
  async (_, error) => {
    const next = { heartbeat: vi.fn(async () => {}) }
    const { group, joinAndSync } = member({ heartbeat: () => Promise.reject(error) }, next)
    await group.heartbeat({ interval: 0 })
    await until(() => group.coordinator === next)
    expect(group.offsetManager.coordinator).toBe(next)
    await group.heartbeat({ interval: 0 })
    expect(next.heartbeat).toHaveBeenCalledWith({ groupId: 'work', memberId: 'me', groupGenerationId: 3 })
    expect(joinAndSync).not.toHaveBeenCalled()
  },
)

test('a heartbeat does not wait while the coordinator is looked up', async () => {
  const { group, cluster } = member({ heartbeat: () => Promise.reject(gone()) })
  cluster.findGroupCoordinator.mockReturnValue(new Promise(() => {}))
  await group.heartbeat({ interval: 0 })
  await group.heartbeat({ interval: 0 })
  expect(cluster.findGroupCoordinator).toHaveBeenCalledOnce()
})

test('a rebalance is still reported', async () => {
  const rebalancing = createErrorFromCode(REBALANCING)
  const { group } = member({ heartbeat: () => Promise.reject(rebalancing) })
  await expect(group.heartbeat({ interval: 0 })).rejects.toBe(rebalancing)
})

test('a refused commit makes the member look up its coordinator', async () => {
  const next = {}
  const { group } = member({}, next)
  group.offsetManager.commitOffsets = () => Promise.reject(gone())
  await expect(group.commitOffsets({})).rejects.toThrow('Connection error')
  await until(() => group.coordinator === next)
})

test.each([
  ['whose leader has moved', createErrorFromCode(NOT_LEADER)],
  ['whose disk has failed', createErrorFromCode(STORAGE_ERROR)],
  ['whose broker has an unexpected error', createErrorFromCode(UNEXPECTED)],
  ['whose broker is gone', gone()],
])('after a fetch of a partition %s the leaders are refreshed, and nobody joins again', async (_, error) => {
  const { group, cluster, joinAndSync } = member({})
  await group.recoverFromFetch(error)
  expect(cluster.refreshMetadata).toHaveBeenCalled()
  expect(joinAndSync).not.toHaveBeenCalled()
})

test('while no broker answers, a fetch returns nothing and the next one tries again', async () => {
  const { group, cluster } = member({})
  cluster.refreshMetadata.mockRejectedValue(gone())
  await expect(group.recoverFromFetch(gone())).resolves.toBeUndefined()
})

test('kafkajs handles other failures of a fetch itself', async () => {
  const { group } = member({})
  const refused = new KafkaJSProtocolError({ type: 'TOPIC_AUTHORIZATION_FAILED', message: 'no' })
  await expect(group.recoverFromFetch(refused)).rejects.toBe(refused)
})

test('a fetch event counts the partitions that have answered, and only those with records are handled', async () => {
  const fetched: unknown[] = []
  const heartbeat = vi.fn(async () => {})
  const emit = (name: string, { numberOfBatches }: { numberOfBatches: number }) =>
    name === 'consumer.fetch' && fetched.push(numberOfBatches)
  const runner = { running: true, instrumentationEmitter: { emit }, heartbeat }
  const fetch = (batches: object[]) =>
    Runner.prototype.fetch.call({ ...runner, consumerGroup: { fetch: async () => batches } }, '1')
  const [empty, filled] = [{ rawMessages: [] }, { rawMessages: [{}] }]
  expect([await fetch([]), await fetch([empty, empty])]).toEqual([[], []])
  // otherwise the group would lose an idle member
  expect(heartbeat).toHaveBeenCalledTimes(2)
  expect(await fetch([empty, filled])).toEqual([filled])
  expect(fetched).toEqual([0, 2, 2])
})
