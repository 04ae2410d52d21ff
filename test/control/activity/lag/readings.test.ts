import { describe, expect, test } from 'vitest'
import { groupTopics } from '../../../../control/activity/lag/observe.ts'
import type { Replay } from '../../../../schemas/task.ts'
import { topics } from '../../../../schemas/topics.ts'

const ladder = [
  { name: '5s', delayMs: 5_000 },
  { name: '60m', delayMs: 3_600_000 },
]
const all = topics({ ladder, dedupWindowMs: 0, windowMs: 0 }).map(({ name }) => name)

const replay: Pick<Replay, 'id' | 'state' | 'what' | 'ranges'> = {
  id: 'r1',
  state: 'accepted',
  what: 'events',
  ranges: [
    { partition: 0, from: 5, to: 50 },
    { partition: 3, from: 0, to: 7 },
  ],
}

test('each group that commits is there with what it reads, and nothing else', () => {
  expect(groupTopics(all, []).map(({ group, topic }) => `${group} ${topic}`)).toEqual([
    'router events',
    'deliverer deliveries',
    'deliverer.due deliveries.due',
    'deliverer.rungs deliveries.retry.5s',
    'deliverer.rungs deliveries.retry.60m',
    'control.tasks tasks',
  ])
})

test('a rung holds its records back for as long as its name says, also one of an older ladder; others do not', () => {
  const delays = groupTopics([...all, 'deliveries.retry.500ms', 'deliveries.retry.1.5h'], []).map(
    ({ topic, delayMs }) => [topic, delayMs],
  )
  expect(Object.fromEntries(delays)).toEqual({
    events: 0,
    deliveries: 0,
    'deliveries.due': 0,
    tasks: 0,
    'deliveries.retry.5s': 5_000,
    'deliveries.retry.60m': 3_600_000,
    'deliveries.retry.500ms': 500,
    'deliveries.retry.1.5h': 5_400_000,
  })
})

test('rungs are told from the shortest to the longest, however Kafka lists them', () => {
  const listed = ['15m', '5s', '60m', '30s', '2m'].map((name) => `deliveries.retry.${name}`)
  expect(groupTopics(listed, []).map(({ topic }) => topic.split('.').at(-1))).toEqual([
    '5s',
    '30s',
    '2m',
    '15m',
    '60m',
  ])
})

test('a rung whose name says no time is read as one that holds nothing back', () => {
  expect(
    groupTopics(['deliveries.retry.soon', 'deliveries.retry.'], []).map(({ delayMs }) => delayMs),
  ).toEqual([0, 0])
})

test('a topic that is not there is read by nobody', () => {
  expect(groupTopics(['deliveries'], [replay]).map(({ group }) => group)).toEqual(['deliverer'])
})

test('tasks are written in transactions, whose markers nobody commits', () => {
  const [tasks] = groupTopics(['tasks'], [])
  expect(tasks).toMatchObject({ markers: 1 })
})

describe('a replay', () => {
  const of = (fields: Partial<typeof replay>) =>
    groupTopics(all, [{ ...replay, ...fields }]).filter(({ ranges }) => ranges)

  test('that runs reads its ranges', () => {
    const ranges = new Map(replay.ranges.map((range) => [range.partition, range]))
    expect(of({})).toMatchObject([{ group: 'replay.r1', topic: 'events', ranges }])
  })
  test('of dead letters reads those', () => {
    expect(of({ what: 'dead' })).toMatchObject([{ topic: 'deliveries.dead' }])
  })
  test.each(['done', 'cancelled', 'failed'] as const)('that is %s reads nothing any more', (state) => {
    expect(of({ state })).toEqual([])
  })
})
