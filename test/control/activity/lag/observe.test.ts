import { describe, expect, test } from 'vitest'
import { readPast } from '../../../../control/activity/lag/history.ts'
import { groupTopics, observe } from '../../../../control/activity/lag/observe.ts'
import type { Bounds, Committed, Offsets } from '../../../../kafka/admin/offsets.ts'
import type { Replay } from '../../../../schemas/task.ts'
import { topics } from '../../../../schemas/topics.ts'
import { aReading } from '../../lag-in-memory.ts'

const NOW = 1_000_000

type Kafka = {
  committed?: (Committed & { group: string })[]
  owned?: Record<string, string[]>
  bounds?: Record<string, Bounds[]>
  /** By topic, of partition 0: the first offset of a time. */
  at?: (topic: string, time: number) => number
}

/** `asked`: the requests in order. */
function kafka({ committed = [], owned = {}, bounds = {}, at = () => 0 }: Kafka) {
  const asked: string[] = []
  const offsets: Pick<Offsets, 'committed' | 'owned' | 'bounds' | 'at'> = {
    async committed({ group, topics }) {
      asked.push(`committed ${group} ${topics}`)
      await new Promise(setImmediate)
      asked.push(`committed ${group} answered`)
      return committed.filter((each) => each.group === group && topics.includes(each.topic))
    },
    async owned(groups) {
      asked.push(`owned ${groups}`)
      return new Map(groups.map((group) => [group, new Set(owned[group])]))
    },
    async bounds(topic) {
      asked.push(`bounds ${topic}`)
      return bounds[topic] ?? []
    },
    async at(topic, time) {
      asked.push(`at ${topic} ${time}`)
      return [{ partition: 0, offset: at(topic, time) }]
    },
  }
  return { offsets, asked }
}

const rung = aReading({ group: 'deliverer.rungs', topic: 'deliveries.retry.5s', delayMs: 5_000 })

test('committed offsets are read before the ends', async () => {
  const { offsets, asked } = kafka({})
  await observe(offsets, [aReading(), rung], () => NOW)
  expect(asked).toEqual([
    'committed router events',
    'committed deliverer.rungs deliveries.retry.5s',
    'owned router,deliverer.rungs',
    'committed router answered',
    'committed deliverer.rungs answered',
    'bounds events',
    'bounds deliveries.retry.5s',
    'at deliveries.retry.5s 995000',
  ])
})

test('each partition of each group is reported as Kafka has it', async () => {
  const commit = { group: 'router', topic: 'events', partition: 1, offset: 7, metadata: 's1:Ag==' }
  const { offsets } = kafka({
    committed: [
      commit,
      { ...commit, partition: 0, offset: null, metadata: '' },
      { ...commit, group: 'else', partition: 2 },
    ],
    owned: { router: ['events/1', 'deliveries/0'] },
    bounds: { events: [2, 1, 0].map((partition) => ({ partition, low: 3, end: 9 })) },
  })
  const groupTopic = aReading()
  expect(await observe(offsets, [groupTopic], () => NOW)).toEqual({
    at: NOW,
    seen: [
      { groupTopic, partition: 0, low: 3, end: 9, front: 9, committed: null, metadata: '', owned: false },
      { groupTopic, partition: 1, low: 3, end: 9, front: 9, committed: 7, metadata: 's1:Ag==', owned: true },
      { groupTopic, partition: 2, low: 3, end: 9, front: 9, committed: null, metadata: '', owned: false },
    ],
    ends: [0, 1, 2].map((partition) => ({ topic: 'events', partition, low: 3, end: 9 })),
  })
})

test('on a rung, records written long enough ago are due', async () => {
  const at = (_: string, time: number) => (time === NOW - 5_000 ? 6 : 0)
  const { offsets } = kafka({ at, bounds: { [rung.topic]: [{ partition: 0, low: 0, end: 9 }] } })
  expect((await observe(offsets, [rung], () => NOW)).seen).toMatchObject([{ end: 9, front: 6 }])
})

test('records that reach a rung after its end was read are not counted yet', async () => {
  const { offsets } = kafka({ at: () => 12, bounds: { [rung.topic]: [{ partition: 0, low: 0, end: 9 }] } })
  expect((await observe(offsets, [rung], () => NOW)).seen).toMatchObject([{ end: 9, front: 9 }])
})

test('a transaction’s marker at the end is nobody’s to read', async () => {
  const groupTopic = aReading({ markers: 1 })
  const { offsets } = kafka({
    bounds: {
      events: [
        { partition: 0, low: 0, end: 9 },
        { partition: 1, low: 0, end: 0 },
      ],
    },
  })
  expect((await observe(offsets, [groupTopic], () => NOW)).seen).toMatchObject([
    { end: 9, front: 8 },
    { end: 0, front: 0 },
  ])
})

test('a replay includes only its partitions, and its topic is requested once', async () => {
  const replay = aReading({ group: 'replay.r1', ranges: new Map([[1, { from: 0, to: 5 }]]) })
  const bounds = { events: [0, 1].map((partition) => ({ partition, low: 0, end: 9 })) }
  const { offsets, asked } = kafka({ bounds })
  const { seen, ends } = await observe(offsets, [aReading(), replay], () => NOW)
  expect(seen.map(({ groupTopic: { group }, partition }) => `${group} ${partition}`)).toEqual([
    'router 0',
    'router 1',
    'replay.r1 1',
  ])
  expect(asked.filter((each) => each.startsWith('bounds'))).toEqual(['bounds events'])
  expect(ends).toHaveLength(2)
  expect((await observe(offsets, [replay], () => NOW)).ends).toEqual(ends)
})

test('the growth of a topic is requested for ten seconds up to a week ago', async () => {
  // a record a second
  const { offsets } = kafka({ at: (_, time) => Math.max(0, time / 1_000) })
  const points = (await readPast(offsets, aReading(), NOW)).get(0) ?? []
  expect(points).toHaveLength(17)
  expect(points.map(({ at }) => at)).toEqual(points.map(({ at }) => at).toSorted((a, b) => a - b))
  expect(points.at(-1)).toMatchObject({ at: NOW - 10_000, offset: 990 })
  expect(points.at(-2)).toMatchObject({ at: NOW - 20_000, offset: 980 })
  expect(NOW - (points[0]?.at ?? 0)).toBeGreaterThan(7 * 24 * 3_600_000)
})

test('for a rung, the growth is requested earlier by its delay', async () => {
  const { offsets } = kafka({ at: (_, time) => Math.max(0, time / 1_000) })
  expect((await readPast(offsets, rung, NOW)).get(0)?.at(-1)).toMatchObject({ at: NOW - 10_000, offset: 985 })
})

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

test('every group that commits is listed with its topics, and nothing else', () => {
  expect(groupTopics(all, []).map(({ group, topic }) => `${group} ${topic}`)).toEqual([
    'router events',
    'deliverer deliveries',
    'deliverer.due deliveries.due',
    'deliverer.rungs deliveries.retry.5s',
    'deliverer.rungs deliveries.retry.60m',
    'control.tasks tasks',
  ])
})

test('a rung has the delay in its name, even one of an older ladder; other topics have none', () => {
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

test('rungs are ordered by delay, however Kafka lists them', () => {
  const listed = ['15m', '5s', '60m', '30s', '2m'].map((name) => `deliveries.retry.${name}`)
  expect(groupTopics(listed, []).map(({ topic }) => topic.split('.').at(-1))).toEqual([
    '5s',
    '30s',
    '2m',
    '15m',
    '60m',
  ])
})

test('a rung whose name has no delay counts as one without', () => {
  expect(
    groupTopics(['deliveries.retry.soon', 'deliveries.retry.'], []).map(({ delayMs }) => delayMs),
  ).toEqual([0, 0])
})

test('a topic that does not exist has no reader', () => {
  expect(groupTopics(['deliveries'], [replay]).map(({ group }) => group)).toEqual(['deliverer'])
})

test('topic tasks has transaction markers, which no consumer commits', () => {
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
