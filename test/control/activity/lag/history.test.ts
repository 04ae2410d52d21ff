import { describe, expect, test } from 'vitest'
import { createHistory, createHour, type History } from '../../../../control/activity/lag/history.ts'
import type { PartitionOffsets } from '../../../../control/activity/lag/observe.ts'
import type { LagItem } from '../../../../control/activity/lag/status.ts'
import { api, VIEW } from '../../api.ts'
import { aLagItem, aReading, aSeen, lagHeld } from '../../lag-in-memory.ts'

const OBSERVATIONS = 3
const EVERY_MS = 2_000

/** Every two seconds. @returns the report after each observation */
function told(
  observations: readonly Partial<PartitionOffsets>[],
  history: History = createHistory(OBSERVATIONS),
): LagItem[] {
  return observations.flatMap((fields, index) => history.add({ at: index * EVERY_MS, seen: [aSeen(fields)] }))
}
const last = (...args: Parameters<typeof told>) => told(...args).at(-1)

test('a partition is reported with its figures', () => {
  expect(told([{ end: 100, committed: 90 }])).toEqual([
    {
      group: 'router',
      topic: 'events',
      partition: 0,
      end: 100,
      committed: 90,
      lag: 10,
      lagSeconds: null,
      status: 'ok',
    },
  ])
})

describe('lag in records is', () => {
  test.each<[what: string, seen: Partial<PartitionOffsets>, expected: Partial<LagItem>]>([
    ['none at the end', { end: 100, committed: 100 }, { lag: 0, lagSeconds: 0 }],
    ['what lies between', { end: 100, committed: 40 }, { lag: 60 }],
    [
      'counted from the first that there is, when nothing is committed',
      { low: 30, end: 100, committed: null },
      { lag: 70, committed: null },
    ],
    [
      'counted from the first remaining record, if the committed one is gone',
      { low: 30, end: 100, committed: 10 },
      { lag: 70, committed: 10 },
    ],
    [
      'zero if the commit is beyond the end, because the topic was recreated',
      { end: 5, committed: 100 },
      { lag: 0, lagSeconds: 0 },
    ],
    ['none in an empty partition', { end: 0, committed: null }, { lag: 0, lagSeconds: 0, committed: null }],
  ])('%s', (_, seen, expected) => {
    expect(told([seen])[0]).toMatchObject(expected)
  })
})

describe('lag in seconds is', () => {
  test('the age of the oldest unsettled record', () => {
    // 20 records between 2 s and 4 s: the 11th came about in the middle
    const item = last([{ end: 90 }, { end: 100 }, { end: 120, committed: 110 }])
    expect(item).toMatchObject({ lag: 10, lagSeconds: 1 })
  })
  test('larger with each observation while nothing is settled', () => {
    const items = told([{ end: 90 }, { end: 91 }, { end: 91 }, { end: 91 }])
    expect(items.map(({ lagSeconds }) => lagSeconds)).toEqual([0, 1, 3, 5])
  })
  test('unknown for records from before the first observation', () => {
    expect(
      last([
        { end: 100, committed: 50 },
        { end: 120, committed: 99 },
      ]),
    ).toMatchObject({ lagSeconds: null })
  })
  test('known for those once Kafka was asked about the past', () => {
    const history = createHistory(OBSERVATIONS)
    history.begin(
      'events',
      new Map([
        [
          0,
          [
            { offset: 0, at: -90_000 },
            { offset: 40, at: -30_000 },
            { offset: 60, at: -10_000 },
          ],
        ],
      ]),
    )
    expect([history.knows('events'), history.knows('deliveries')]).toEqual([true, false])
    expect(told([{ end: 100, committed: 50 }], history)[0]?.lagSeconds).toBe(19.5)
  })
  test('zero once everything is settled', () => {
    expect(last([{ end: 90 }, { end: 100 }, { end: 100, committed: 100 }])).toMatchObject({ lagSeconds: 0 })
  })
})

describe('a rung', () => {
  const rung = aReading({ group: 'deliverer.rungs', topic: 'deliveries.retry.5s', delayMs: 5_000 })
  const on = (fields: Partial<PartitionOffsets>) => ({ groupTopic: rung, committed: 90, ...fields })

  test('counts records that are not due as lag in records, but not in seconds', () => {
    const items = told([
      on({ end: 95, front: 90 }),
      on({ end: 96, front: 90 }),
      on({ end: 97, front: 90 }),
      on({ end: 98, front: 90 }),
    ])
    expect(items.at(-1)).toMatchObject({ lag: 8, lagSeconds: 0, status: 'ok' })
  })
  test('is late by the time that its oldest record is past due', () => {
    // record 90 became due between 2 s and 4 s
    const items = told([
      on({ end: 95, front: 90 }),
      on({ end: 95, front: 90 }),
      on({ end: 95, front: 91 }),
      on({ end: 95, front: 95 }),
    ])
    expect(items.map(({ lagSeconds }) => lagSeconds)).toEqual([0, 0, 1, 3])
  })
  test('is late although a record that comes later was due before: deferrals of a batch are not in order', () => {
    const due = (front: number) => on({ end: 100, front })
    expect(last([due(90), due(92), due(91), due(93)])).toMatchObject({ lag: 10, lagSeconds: 5.5 })
  })

  test('starts over when its topic was created again', () => {
    const items = [on({ end: 100, front: 95, committed: 95 }), on({ end: 5, front: 3, committed: 3 })]
    expect(last(items)).toMatchObject({ lag: 2, lagSeconds: 0 })
  })

  test('has fewer due records when a clock that was ahead is set right', () => {
    const history = createHistory(OBSERVATIONS)
    const seen = (at: number, front: number) =>
      history.add({ at, seen: [aSeen(on({ end: 100, front, committed: 90 }))] })
    seen(600_000, 100)
    expect(seen(0, 90)).toMatchObject([{ lag: 10, lagSeconds: 0 }])
  })

  test('has status stop without a consumer once records stay past due', () => {
    const observations = [90, 91, 92, 93, 94].map((front) => on({ end: 99, front, owned: false }))
    expect(told(observations).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'stop'])
  })
})

describe('state', () => {
  test('records that came since the previous observation do not count yet', () => {
    const observations = [100, 110, 120, 130, 140].map((end) => ({ end, committed: end - 10 }))
    expect(last(observations)).toMatchObject({ lag: 10, status: 'ok' })
  })
  test('records that stay unsettled in every observation mean that the group falls behind', () => {
    const observations = [100, 110, 120, 130, 140].map((end) => ({ end, committed: end - 25 }))
    expect(last(observations)).toMatchObject({ lag: 25, status: 'warn' })
  })
  test('no consumer and nothing committed: stop', () => {
    expect(last([{}, {}, {}, {}].map(() => ({ owned: false })))).toMatchObject({ status: 'stop' })
  })
  test('no consumer now, but something committed: not yet', () => {
    const observations = [90, 90, 91, 91].map((committed) => ({ committed, owned: false }))
    expect(last(observations)).toMatchObject({ status: 'ok' })
  })
  test('a consumer, but nothing committed: stall', () => {
    expect(last([{}, {}, {}, {}])).toMatchObject({ status: 'stall' })
  })
  test('a commit that only adds records settled out of order counts as progress', () => {
    const observations = ['', 's1:Ag==', 's1:Ag==', 's1:Ag=='].map((metadata) => ({ metadata, owned: false }))
    expect(told(observations).at(-1)).toMatchObject({ status: 'stall', lag: 10, committed: 90 })
    expect(last([...observations, { metadata: 's1:Ag==', owned: false }])).toMatchObject({ status: 'stop' })
  })
  test('set back: rewind', () => {
    expect(last([{ committed: 100 }, { committed: 100 }, { committed: 20 }])).toMatchObject({
      status: 'rewind',
      lag: 80,
    })
  })
  test('records that Kafka removed move the position, which is not a rewind', () => {
    expect(
      last([
        { committed: null, low: 0 },
        { committed: null, low: 50 },
      ]),
    ).toMatchObject({ status: 'ok' })
  })
})

describe('tasks', () => {
  const groupTopic = aReading({ group: 'control.tasks', topic: 'tasks', markers: 1 })
  const on = (end: number, committed: number) => ({ groupTopic, end, front: end - 1, committed })

  test('the marker of the last transaction does not count as a pending task', () => {
    expect(last(Array.from({ length: 5 }, () => on(100, 99)))).toMatchObject({
      lag: 1,
      lagSeconds: 0,
      status: 'ok',
    })
  })
  test('a task waits from its own arrival, not from that of the previous marker', () => {
    expect(last([on(100, 99), on(100, 99), on(102, 99)])).toMatchObject({ lag: 3, lagSeconds: 1.5 })
  })
})

describe('a replay', () => {
  const groupTopic = aReading({ group: 'replay.r1', ranges: new Map([[0, { from: 20, to: 60 }]]) })

  test('reads to the end of its ranges, not of the topic, and has no lag in seconds', () => {
    const items = told([
      { groupTopic, end: 30, committed: 30 },
      { groupTopic, end: 100, committed: 40 },
    ])
    expect(items).toMatchObject([
      { end: 30, lag: 0, lagSeconds: 0 },
      { end: 60, lag: 20, lagSeconds: null },
    ])
  })
  test('has its whole range as lag before it starts', () => {
    expect(told([{ groupTopic, low: 5, committed: null }])[0]).toMatchObject({ committed: null, lag: 40 })
    expect(told([{ groupTopic, low: 35, committed: null }])[0]).toMatchObject({ committed: null, lag: 25 })
  })
  test('has no lag at its end', () => {
    expect(last([{}, {}, {}, {}].map(() => ({ groupTopic, end: 100, committed: 60 })))).toMatchObject({
      lag: 0,
      lagSeconds: 0,
      status: 'ok',
    })
  })
})

test('a partition that disappears is not reported, and starts over when it comes back', () => {
  const history = createHistory(OBSERVATIONS)
  const other = aSeen({ partition: 1 })
  const both = (index: number, seen: PartitionOffsets[]) => history.add({ at: index * EVERY_MS, seen })
  for (let index = 0; index < 4; index++) both(index, [aSeen(), other])
  expect(both(4, [aSeen()]).map(({ partition, status }) => [partition, status])).toEqual([[0, 'stall']])
  expect(both(5, [aSeen(), other]).map(({ status }) => status)).toEqual(['stall', 'ok'])
  both(6, [])
  expect(history.knows('events')).toBe(false)
})

test('two groups of one topic share only the times of its records', () => {
  const history = createHistory(OBSERVATIONS)
  const pair = (index: number, end: number) =>
    history.add({
      at: index * EVERY_MS,
      seen: [
        aSeen({ end, groupTopic: aReading({ group: 'other' }), owned: false }),
        aSeen({ end, committed: end }),
      ],
    })
  pair(0, 90)
  for (const index of [1, 2, 3]) pair(index, 100)
  expect(pair(4, 100).map(({ group, status, lagSeconds }) => [group, status, lagSeconds])).toEqual([
    ['other', 'stop', 7.9],
    ['router', 'ok', 0],
  ])
})

const begun = Date.parse('2026-01-02T03:00:00.000Z')

test('one observation in ten seconds is stored for an hour, with sums by group', async () => {
  const hour = createHour()
  for (let second = 0; second <= 4_000; second += 2)
    hour.add({
      at: begun + second * 1_000,
      items: [
        aLagItem({ lag: second, lagSeconds: null }),
        aLagItem({ partition: 1, lag: 1, lagSeconds: 2 }),
        aLagItem({ group: 'deliverer', lagSeconds: null }),
      ],
    })
  expect(hour.all()).toHaveLength(360)
  const { ask } = api({}, lagHeld([], { hour: hour.all }))
  const { json } = await ask({ url: '/api/lag/hour', token: VIEW })
  expect(json.items.at(-1)).toEqual({
    at: '2026-01-02T04:06:40.000Z',
    groups: [
      { group: 'router', lag: 4_001, lagSeconds: 2 },
      { group: 'deliverer', lag: 10, lagSeconds: null },
    ],
  })
})

test('observations are stored as often if they are not exactly two seconds apart', () => {
  const hour = createHour()
  for (let index = 0; index < 1_800; index++) hour.add({ at: begun + index * 2_000 + (index % 7), items: [] })
  expect(hour.all()).toHaveLength(360)
})

test('history starts over when the clock is set back', () => {
  const hour = createHour()
  for (const at of [10, 30, 20]) hour.add({ at: at * 1_000, items: [] })
  expect(hour.all().map(({ at }) => at)).toEqual([10_000, 20_000])
})
