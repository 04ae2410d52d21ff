import { expect, onTestFinished, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { setFetchWait } from '../../kafka/patches/fetch-wait.ts'
import { aFetchingMember } from '../helpers/kafkajs.ts'

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
