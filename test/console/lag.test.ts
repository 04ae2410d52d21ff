import { expect, test } from 'vitest'
import { groupsOf, type LagItem, statusLabel, worstOf } from '../../console/src/views/lag/consumer-groups.ts'
import { historyOf, series, withSnapshot } from '../../console/src/views/lag/history.ts'

const item = (fields: Partial<LagItem>): LagItem => ({
  group: 'router',
  topic: 'events',
  partition: 0,
  end: 10,
  committed: 10,
  lag: 0,
  lagSeconds: 0,
  status: 'ok',
  ...fields,
})

test('a group has the sum of its records, the longest lag and the worst status', () => {
  const [group] = groupsOf([
    item({ lag: 3, lagSeconds: 2 }),
    item({ partition: 1, lag: 4, lagSeconds: 9, status: 'stall' }),
    item({ partition: 2, lagSeconds: null }),
  ])
  expect(group).toMatchObject({ group: 'router', records: 7, seconds: 9, status: 'stall' })
})

test('groups are in the order in which an event passes them, then replays', () => {
  const groups = ['replay.x', 'deliverer.rungs', 'deliverer', 'router'].map((group) => item({ group }))
  expect(groupsOf(groups).map(({ group }) => group)).toEqual([
    'router',
    'deliverer',
    'deliverer.rungs',
    'replay.x',
  ])
})

test('a group whose topic is missing is there, in a state of its own', () => {
  const groups = groupsOf(
    [item({ group: 'deliverer', topic: 'deliveries' })],
    [{ group: 'router', topic: 'events' }],
  )
  expect(groups).toMatchObject([
    { group: 'router', status: 'blocked', records: 0, topics: [{ topic: 'events', status: 'blocked' }] },
    { group: 'deliverer', status: 'ok' },
  ])
  expect(worstOf(groups)).toBe('blocked')
  expect(statusLabel('blocked').label).toBe('Topic missing')
})

test('a replay without known lag has no seconds', () => {
  expect(groupsOf([item({ group: 'replay.x', lag: 5, lagSeconds: null })])).toMatchObject([
    { records: 5, seconds: null },
  ])
})

test('a stopped consumer is worse than one that falls behind', () => {
  const groups = groupsOf([item({ status: 'warn' }), item({ group: 'deliverer', status: 'stop' })])
  expect(worstOf(groups)).toBe('stop')
})

test('the history keeps twenty minutes of sums, without duplicate snapshots', () => {
  const look = (second: number, lag: number) => ({
    at: new Date(second * 1_000).toISOString(),
    items: [item({ lag, lagSeconds: second }), item({ lag, partition: 1, lagSeconds: 0 })],
  })
  let past = withSnapshot([], look(0, 1))
  expect(withSnapshot(past, look(0, 1))).toBe(past)
  for (let second = 2; second <= 1_400; second += 2) past = withSnapshot(past, look(second, 1))
  expect(past).toHaveLength(600)
  expect(series(past.slice(-2), 'records')).toMatchObject({
    times: ['1970-01-01T00:23:18.000Z', '1970-01-01T00:23:20.000Z'],
    lines: [{ label: 'router', values: [2, 2] }],
  })
  expect(series(past.slice(-1), 'seconds').lines[0]?.values).toEqual([1_400])
})

test('the hour recorded by control precedes the live snapshots', () => {
  const at = (second: number) => new Date(second * 1_000).toISOString()
  const hour = [0, 10, 20].map((second) => ({
    at: at(second),
    groups: [{ group: 'router', lag: second, lagSeconds: null }],
  }))
  const past = historyOf(hour, withSnapshot([], { at: at(15), items: [item({ lag: 7 })] }))
  expect(series(past, 'records')).toMatchObject({
    times: [at(0), at(10), at(15)],
    lines: [{ label: 'router', values: [0, 10, 7] }],
  })
})
