import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createAssignment, type Held, type PartitionWatch } from '../../kafka/assignment.ts'

/** The bookkeeping alone: what it asks of a consumer is written down, what the group has committed is given. */
function bookkeeping({ highWater = 400 } = {}) {
  const paused = new Set<number>()
  const commits: { partition: number; offset: string }[] = []
  const state = { committed: '0', restarting: false }
  const reach = () => {
    if (state.restarting)
      throw new Error('Consumer group was not initialized, consumer#run must be called first')
  }
  const consumer = {
    pause: ([given]: { partitions?: number[] }[]) => {
      reach()
      for (const partition of given?.partitions ?? []) paused.add(partition)
    },
    resume: (given: { partitions?: number[] }[]) => {
      reach()
      for (const partition of given.flatMap(({ partitions }) => partitions ?? [])) paused.delete(partition)
    },
    paused: () => [{ topic: 'work', partitions: [...paused] }],
    commitOffsets: async (offsets: { partition: number; offset: string }[]) => void commits.push(...offsets),
  }
  const admin = {
    connect: async () => undefined,
    disconnect: async () => undefined,
    fetchOffsets: async () => [
      { topic: 'work', partitions: [{ partition: 0, offset: state.committed, metadata: '' }] },
    ],
  }
  const connection = { kafka: { admin: () => admin }, log: pino({ level: 'silent' }) }
  const told: string[] = []
  const watch: PartitionWatch = {
    gained: (partitions) => void told.push(...partitions.map(({ partition }) => `gained ${partition}`)),
    lost: ({ partition }) => void told.push(`lost ${partition}`),
  }
  const options = { connection, consumer, groupId: 'work', topics: ['work'], highWater, watch }
  const assignment = createAssignment(options)
  assignment.assign({ work: [0] })
  return { assignment, paused, commits, state, told }
}

const take = (held: Held, from: number, to: number) => {
  for (let offset = from; offset < to; offset++) held.tracker.take(offset)
}

test('a full partition whose records were released in a rebalance goes on once those that are taken again are settled', async () => {
  const { assignment, paused } = bookkeeping()
  const held = await assignment.held('work', 0)
  take(held, 0, 475)
  assignment.pauseIfFull(held)
  assignment.disown()
  for (let offset = 0; offset < 40; offset++) assignment.settle(held, offset)
  for (let offset = 40; offset < 475; offset++) held.tracker.release(offset)
  assignment.assign({ work: [0] })

  take(await assignment.held('work', 0), 40, 135)
  assignment.pauseIfFull(held)
  for (let offset = 40; offset < 135; offset++) assignment.settle(held, offset)
  expect([...paused]).toEqual([])
})

test('a partition that others have worked on meanwhile is followed from where they are, and never committed back', async () => {
  const { assignment, commits, state } = bookkeeping()
  const old = await assignment.held('work', 0)
  take(old, 0, 100)
  state.committed = '1000'
  assignment.assign({ work: [0] })
  assignment.settle(old, 0)
  const held = await assignment.held('work', 0)
  take(held, 1_000, 1_002)
  assignment.settle(held, 1_000)
  await assignment.commit()
  expect(commits.map(({ offset }) => offset)).toEqual(['1001'])
})

test('a partition that stays is committed again after a rebalance: the last commit may have been lost', async () => {
  const { assignment, commits } = bookkeeping()
  const held = await assignment.held('work', 0)
  take(held, 0, 3)
  assignment.settle(held, 0)
  await assignment.commit()
  assignment.assign({ work: [0] })
  await assignment.held('work', 0)
  await assignment.commit()
  expect(commits.map(({ offset }) => offset)).toEqual(['1', '1'])
})

test('nothing is thrown while the consumer restarts and can be neither paused nor resumed', async () => {
  const { assignment, state } = bookkeeping({ highWater: 2 })
  const held = await assignment.held('work', 0)
  take(held, 0, 3)
  assignment.pauseIfFull(held)
  state.restarting = true
  for (const offset of [0, 1, 2]) assignment.settle(held, offset)
  assignment.hold(held, Date.now() + 60_000)
  expect(() => assignment.pauseAll()).not.toThrow()
})

test('who keeps something per partition is told when it comes, goes, or comes back from others, and not when it stays', async () => {
  const { assignment, state, told } = bookkeeping()
  await assignment.held('work', 0)
  expect(told.splice(0)).toEqual(['gained 0'])
  assignment.assign({ work: [0, 1] })
  await assignment.held('work', 1)
  expect(told.splice(0)).toEqual(['gained 1'])
  state.committed = '1000'
  assignment.assign({ work: [0] })
  await assignment.held('work', 0)
  expect(told.splice(0)).toEqual(['lost 1', 'lost 0', 'gained 0'])
})
