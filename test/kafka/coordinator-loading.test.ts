import { createRequire } from 'node:module'
import { describe, expect, test, vi } from 'vitest'
import '../../kafka/client.ts' // has members join until they are in
import { aFetchingMember, offsets, runnerOf, withCoordinator } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error')
const LOADING = 14

const record = { offset: '0', isControlRecord: false }
const response = {
  responses: [{ topicName: 'work', partitions: [{ partition: 0, highWatermark: '1', messages: [record] }] }],
}

/** Calling one of `asked` answers that fetch with one record. */
function member() {
  const asked: (() => void)[] = []
  const fetch = () => new Promise<object>((resolve) => void asked.push(() => resolve(response)))
  return { group: aFetchingMember('work', fetch), asked }
}

test('batches of one generation are not passed on in the next', async () => {
  const { group, asked } = member()
  const fetched = group.fetch('1')
  await until(() => asked.length === 1)
  asked[0]?.()
  expect(await fetched).toMatchObject([{ messages: [{ offset: '0' }] }])

  const late = group.fetch('1')
  await until(() => asked.length === 2)
  group.offsetManager = offsets()
  asked[1]?.()
  expect(await late).toEqual([])
})

test('batches that wait for their turn while the member joins again are not handled after it', async () => {
  const { group, asked } = member()
  const eachBatch = vi.fn(async () => {})
  const manual = { autoCommit: false, eachBatchAutoResolve: false }
  const runner = Object.assign(runnerOf(group), { ...manual, eachBatch, heartbeat: async () => {} })
  const fetched = group.fetch('1')
  await until(() => asked.length === 1)
  asked[0]?.()
  const [batch] = await fetched
  await runner.handleBatch(batch)
  expect(eachBatch).toHaveBeenCalledOnce()

  group.offsetManager = offsets()
  await runner.handleBatch(batch)
  expect(eachBatch).toHaveBeenCalledOnce()
})

test.each([
  ['does not know the member', 25],
  ['rebalances', 27],
])(
  'once the coordinator says that it %s, no batch is handled and nothing asks it again until the next join',
  async (_, code) => {
    const { group, asked } = member()
    const refusal = createErrorFromCode(code)
    const heartbeat = vi.fn(() => Promise.reject(refusal))
    Object.assign(group, { memberId: 'me', lastRequest: 0, coordinator: { heartbeat } })
    const eachBatch = vi.fn(async () => {})
    const manual = { autoCommit: false, eachBatchAutoResolve: false, heartbeatInterval: 0 }
    const runner = Object.assign(runnerOf(group), { ...manual, eachBatch })
    const fetched = group.fetch('1')
    await until(() => asked.length === 1)
    asked[0]?.()
    const [batch] = await fetched
    for (let times = 0; times < 3; times++) await expect(runner.handleBatch(batch)).rejects.toBe(refusal)
    expect([eachBatch.mock.calls.length, heartbeat.mock.calls.length]).toEqual([1, 1])

    group.offsetManager = offsets()
    heartbeat.mockResolvedValue(undefined as never)
    const next = group.fetch('1')
    await until(() => asked.length === 2)
    asked[1]?.()
    for (const each of await next) await runner.handleBatch(each)
    expect(eachBatch).toHaveBeenCalledTimes(2)
  },
)

test('a seek that is still to be done when a member joins is not done: the join starts at the commit', async () => {
  const asked: object[] = []
  const group = aFetchingMember('work', async (request) => {
    asked.push(request)
    return { responses: [] }
  })
  withCoordinator(group, '50')
  group.seek({ topic: 'work', partition: 0, offset: '90' })
  const joining = group.joinAndSync()
  group.seek({ topic: 'work', partition: 0, offset: '95' })
  await joining
  await group.fetch('1')
  expect(asked).toMatchObject([{ topics: [{ topic: 'work', partitions: [{ fetchOffset: '50' }] }] }])
})

test('a commit is refused while its member has a new generation but does not know its partitions yet', async () => {
  const { group } = member()
  const coordinator = Object.assign(withCoordinator(group), { offsetCommit: vi.fn(async () => {}) })
  const commit = () => group.commitOffsets({ topics: [{ topic: 'work', partitions: [] }] })
  const commits: Promise<unknown>[] = []
  let { offsetManager } = group
  Object.assign(offsetManager, { commitOffsets: coordinator.offsetCommit })
  Object.defineProperty(group, 'offsetManager', {
    get: () => offsetManager,
    set(next) {
      commits.push(commit().then(() => 'the old generation'))
      offsetManager = next
      // with partitions that belonged to it until now
      commits.push(commit().catch(({ type }: { type: string }) => type))
    },
  })
  await group.joinAndSync()
  expect(await Promise.all(commits)).toEqual(['the old generation', 'ILLEGAL_GENERATION'])
  await group.commitOffsets({ topics: [{ topic: 'work', partitions: [{ partition: 0, offset: '7' }] }] })
  expect(coordinator.offsetCommit).toHaveBeenCalledTimes(2)
})

describe('a commit that kafkajs repeats', () => {
  const retriable = createErrorFromCode(LOADING)

  test('is sent again while the member stays in its generation', async () => {
    const { group } = member()
    const offsets = { topics: [] }
    const commitOffsets = vi.fn(async () => {}).mockRejectedValueOnce(retriable)
    group.offsetManager = { commitOffsets }
    await expect(group.commitOffsets(offsets)).rejects.toBe(retriable)
    await group.commitOffsets(offsets)
    expect(commitOffsets).toHaveBeenCalledTimes(2)
  })

  test('is given up once the member has joined again: another one may have read on in these partitions', async () => {
    const { group } = member()
    const offsets = { topics: [] }
    group.offsetManager = { commitOffsets: () => Promise.reject(retriable) }
    await expect(group.commitOffsets(offsets)).rejects.toBe(retriable)
    const commitOffsets = vi.fn(async () => {})
    group.offsetManager = { commitOffsets }
    await expect(group.commitOffsets(offsets)).rejects.toMatchObject({
      type: 'ILLEGAL_GENERATION',
      retriable: false,
    })
    expect(commitOffsets).not.toHaveBeenCalled()
    await group.commitOffsets({ topics: [] })
    // what kafkajs itself has read, with its option `autoCommit`
    await group.commitOffsets()
    expect(commitOffsets).toHaveBeenCalledTimes(2)
  })
})
