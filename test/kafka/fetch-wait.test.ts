import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { IDLE_WAIT_MS, setFetchWait } from '../../kafka/patches/fetch-wait.ts'
import { aFetchingMember, runnerOf } from '../helpers/kafkajs.ts'

function member(groupId: string) {
  const fetch = vi.fn(async (_: object) => ({ responses: [] }))
  return { group: aFetchingMember(groupId, fetch), fetch }
}

test('each fetch of a group waits as chosen then, depending on whether a partition is paused', async () => {
  const { group, fetch } = member('lane')
  onTestFinished(setFetchWait('lane', (isPaused) => ({ maxWaitTime: isPaused ? 25 : 250 })))
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 250, minBytes: 7 }))
  group.pause([{ topic: 'work', partitions: [0] }])
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 25 }))
  group.resume([{ topic: 'work', partitions: [0] }])
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 250 }))
})

test('other groups keep their wait, and so does a group after its choice is undone', async () => {
  setFetchWait('lane', () => ({ maxWaitTime: 1, minBytes: 1 }))()
  for (const groupId of ['lane', 'other']) {
    const { group, fetch } = member(groupId)
    await group.fetch('1')
    expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 70, minBytes: 7 }))
  }
})

describe('with all partitions paused', () => {
  const all = [{ topic: 'work', partitions: [0, 1] }]
  /** kafkajs's own sleep when there is nothing to fetch. */
  const looks = (group: ReturnType<typeof member>['group']) =>
    vi.spyOn(group.cluster, 'refreshMetadataIfNecessary')

  test('a member looks for work only now and then', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { group, fetch } = member('paused')
    const looked = looks(group)
    group.pause(all)
    const fetching = group.fetch('1')
    await vi.advanceTimersByTimeAsync(IDLE_WAIT_MS - 1)
    expect(looked).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1 + 70)
    await fetching
    expect(looked).toHaveBeenCalledOnce()
    expect(fetch).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a member fetches as soon as one is resumed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { group, fetch } = member('paused')
    group.pause(all)
    const fetching = group.fetch('1')
    group.resume([{ topic: 'work', partitions: [1] }])
    await fetching
    expect(fetch).toHaveBeenCalledOnce()
  })

  test('a member stops at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { group } = member('paused')
    const looked = looks(group)
    group.pause(all)
    void group.fetch('1')
    await runnerOf(group).stop()
    await nextTurn()
    expect(looked).toHaveBeenCalledOnce()
  })
})

const message = { offset: '0', timestamp: '0', key: null, value: null, headers: {} }
const answered = (records: number) => {
  const messages = Array.from({ length: records }, () => message)
  return { responses: [{ topicName: 'work', partitions: [{ partition: 0, highWatermark: '0', messages }] }] }
}

describe('after a fetch of few records', () => {
  function paced(records: number) {
    const fetch = vi.fn(async (_: object) => answered(records))
    onTestFinished(setFetchWait('paced', () => ({ paceMs: 500 })))
    return { group: aFetchingMember('paced', fetch), fetch }
  }

  test('the next one of the same broker waits, while other brokers are asked', async () => {
    const { group, fetch } = paced(3)
    await group.fetch('1')
    const next = group.fetch('1')
    await group.fetch('2')
    expect(fetch).toHaveBeenCalledTimes(2)
    await next
    expect(fetch).toHaveBeenCalledTimes(3)
  })

  test('the next one waits as chosen when it starts', async () => {
    const { group, fetch } = paced(3)
    onTestFinished(setFetchWait('paced', (isPaused) => ({ paceMs: 50, maxWaitTime: isPaused ? 25 : 250 })))
    await group.fetch('1')
    const next = group.fetch('1')
    group.pause([{ topic: 'work', partitions: [0] }])
    await next
    expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 25 }))
  })

  test.each([0, 50])('it does not wait if the last one had %s', async (records) => {
    const { group, fetch } = paced(records)
    await group.fetch('1')
    const next = group.fetch('1')
    await nextTurn()
    expect(fetch).toHaveBeenCalledTimes(2)
    await next
  })
})
