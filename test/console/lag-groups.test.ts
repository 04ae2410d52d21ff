import { expect, test } from 'vitest'
import type { LagItem } from '../../console/src/api/lag.ts'
import { groupsOf, worstOf } from '../../console/src/views/lag/group.ts'

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

test('of a group the records add up, and the longest wait and the worst state count', () => {
  const [group] = groupsOf([
    item({ lag: 3, lagSeconds: 2 }),
    item({ partition: 1, lag: 4, lagSeconds: 9, status: 'stall' }),
    item({ partition: 2, lagSeconds: null }),
  ])
  expect(group).toMatchObject({ group: 'router', records: 7, seconds: 9, status: 'stall' })
})

test('groups stand in the order in which an event goes, replays behind them', () => {
  const groups = ['replay.x', 'deliverer.rungs', 'deliverer', 'router'].map((group) => item({ group }))
  expect(groupsOf(groups).map(({ group }) => group)).toEqual([
    'router',
    'deliverer',
    'deliverer.rungs',
    'replay.x',
  ])
})

test('a replay, whose seconds are not known, has none', () => {
  expect(groupsOf([item({ group: 'replay.x', lag: 5, lagSeconds: null })])).toMatchObject([
    { records: 5, seconds: null },
  ])
})

test('a stopped consumer is worse than one that falls behind', () => {
  const groups = groupsOf([item({ status: 'warn' }), item({ group: 'deliverer', status: 'stop' })])
  expect(worstOf(groups)).toBe('stop')
})
