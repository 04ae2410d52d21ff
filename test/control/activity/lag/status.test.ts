import { describe, expect, test } from 'vitest'
import { type Observation, type Status, statusOf } from '../../../../control/activity/lag/status.ts'

const OBSERVATIONS = 5

type Row = { at: number[]; behind: number[] } & Partial<{
  /** By default, where the offset moved. */
  commits: boolean[]
  owned: boolean[]
}>

function windowOf({ at, behind, commits, owned }: Row): Observation[] {
  return at.map((position, index) => ({
    position,
    behind: behind[index] ?? 0,
    committed: commits?.[index] ?? position !== (at[index - 1] ?? position),
    owned: owned?.[index] ?? true,
  }))
}

const always = (is: boolean) => Array.from({ length: OBSERVATIONS }, () => is)
const flat = [10, 10, 10, 10, 10]
const up = [10, 20, 30, 40, 50]

const rules: [what: string, row: Row, expected: Status][] = [
  ['no observation', { at: [], behind: [] }, 'ok'],
  ['there is no lag', { at: up, behind: [0, 0, 0, 0, 0] }, 'ok'],
  ['the lag is gone', { at: up, behind: [50, 60, 70, 80, 0] }, 'ok'],
  ['there was no lag once, so it cannot be far behind', { at: up, behind: [50, 0, 70, 80, 90] }, 'ok'],
  ['the lag shrank in between', { at: up, behind: [50, 60, 55, 80, 90] }, 'ok'],
  ['it makes progress while the lag grows', { at: up, behind: [50, 60, 70, 80, 90] }, 'warn'],
  ['it makes progress, and the lag stays the same', { at: up, behind: [50, 50, 50, 50, 50] }, 'warn'],
  [
    'it goes on at last, after it had stood still',
    { at: [10, 10, 10, 10, 11], behind: [5, 6, 7, 8, 9] },
    'warn',
  ],
  ['the offset does not move, with a consumer', { at: flat, behind: [1, 1, 1, 1, 1] }, 'stall'],
  ['the offset does not move, and the lag grows', { at: flat, behind: [1, 2, 3, 4, 5] }, 'stall'],
  [
    'the offset did not move, the consumer has left, but the commit metadata changed',
    { at: flat, behind: [1, 1, 1, 1, 1], commits: [false, true, true, false, false], owned: always(false) },
    'stall',
  ],
  ['no consumer, and nothing committed', { at: flat, behind: [1, 1, 1, 1, 1], owned: always(false) }, 'stop'],
  [
    'its consumer was dropped from the group by the last observation',
    { at: flat, behind: [1, 2, 3, 4, 5], owned: [true, true, true, true, false] },
    'stop',
  ],
  [
    'another consumer took over by the last observation',
    { at: flat, behind: [1, 2, 3, 4, 5], owned: [false, false, false, false, true] },
    'stall',
  ],
  ['no consumer, and no lag', { at: flat, behind: [0, 0, 0, 0, 0], owned: always(false) }, 'ok'],
  [
    'no consumer, but the lag has only just begun',
    { at: flat, behind: [0, 0, 0, 1, 1], owned: always(false) },
    'ok',
  ],
  [
    'no consumer, but it made progress until just now',
    { at: up, behind: [9, 8, 7, 6, 5], owned: always(false) },
    'ok',
  ],
  ['it was set back', { at: [10, 20, 30, 5, 6], behind: [1, 1, 1, 25, 24] }, 'rewind'],
  [
    'it was set back from where it had no lag',
    { at: [10, 20, 30, 0, 0], behind: [0, 0, 0, 30, 30] },
    'rewind',
  ],
  [
    'it was set back without a consumer',
    { at: [9, 9, 9, 9, 0], behind: [1, 1, 1, 1, 9], owned: always(false) },
    'rewind',
  ],
  ['it was set back, and has caught up', { at: [10, 20, 5, 15, 20], behind: [9, 3, 9, 3, 9] }, 'ok'],
  [
    'it was set back and has caught up, but falls behind',
    { at: [10, 20, 5, 20, 25], behind: [1, 2, 3, 4, 5] },
    'warn',
  ],
  [
    'it was set back twice, and came back once',
    { at: [10, 20, 5, 20, 7], behind: [3, 3, 3, 3, 3] },
    'rewind',
  ],
  [
    'it was set back to where nothing is left to do',
    { at: [10, 20, 5, 6, 7], behind: [1, 1, 1, 1, 0] },
    'ok',
  ],
]

describe(`by the last ${OBSERVATIONS} looks:`, () => {
  test.each(rules)('%s', (_, row, expected) => {
    expect(statusOf(windowOf(row), OBSERVATIONS)).toBe(expected)
  })
})

describe('with too few observations', () => {
  const short: [string, Row, Status][] = [
    ['falling behind is not reported yet', { at: [10, 20, 30, 40], behind: [1, 2, 3, 4] }, 'ok'],
    ['a stall is not reported yet', { at: [10, 10, 10, 10], behind: [1, 2, 3, 4] }, 'ok'],
    [
      'a missing consumer is not reported yet',
      { at: [10, 10, 10, 10], behind: [1, 2, 3, 4], owned: always(false) },
      'ok',
    ],
    ['being set back is reported at once', { at: [10, 9], behind: [1, 2] }, 'rewind'],
  ]
  test.each(short)('%s', (_, row, expected) => {
    expect(statusOf(windowOf(row), OBSERVATIONS)).toBe(expected)
  })
})
