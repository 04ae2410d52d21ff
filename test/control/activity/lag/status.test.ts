import { describe, expect, test } from 'vitest'
import { type Observation, type Status, statusOf } from '../../../../control/activity/lag/status.ts'

const OBSERVATIONS = 5

type Row = { at: number[]; behind: number[] } & Partial<{
  /** Looks since which a commit was seen; where the offset has moved, unless told. */
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
  ['nothing was seen yet', { at: [], behind: [] }, 'ok'],
  ['there is no lag', { at: up, behind: [0, 0, 0, 0, 0] }, 'ok'],
  ['the lag is gone', { at: up, behind: [50, 60, 70, 80, 0] }, 'ok'],
  ['there was no lag once: it cannot be far behind', { at: up, behind: [50, 0, 70, 80, 90] }, 'ok'],
  ['the lag has become less in between', { at: up, behind: [50, 60, 55, 80, 90] }, 'ok'],
  ['it goes on while the lag grows', { at: up, behind: [50, 60, 70, 80, 90] }, 'warn'],
  ['it goes on, and the lag stays the same', { at: up, behind: [50, 50, 50, 50, 50] }, 'warn'],
  [
    'it goes on at last, after it had stood still',
    { at: [10, 10, 10, 10, 11], behind: [5, 6, 7, 8, 9] },
    'warn',
  ],
  ['the offset stands still while a consumer is there', { at: flat, behind: [1, 1, 1, 1, 1] }, 'stall'],
  ['the offset stands still and what is behind grows', { at: flat, behind: [1, 2, 3, 4, 5] }, 'stall'],
  [
    'it stood still, and has nobody by now, but what it commits has changed',
    { at: flat, behind: [1, 1, 1, 1, 1], commits: [false, true, true, false, false], owned: always(false) },
    'stall',
  ],
  [
    'nobody has it, and nothing is committed',
    { at: flat, behind: [1, 1, 1, 1, 1], owned: always(false) },
    'stop',
  ],
  [
    'who had it was dropped from the group by the last look',
    { at: flat, behind: [1, 2, 3, 4, 5], owned: [true, true, true, true, false] },
    'stop',
  ],
  [
    'somebody has taken it over by the last look',
    { at: flat, behind: [1, 2, 3, 4, 5], owned: [false, false, false, false, true] },
    'stall',
  ],
  [
    'nobody has it, and nothing is to be done',
    { at: flat, behind: [0, 0, 0, 0, 0], owned: always(false) },
    'ok',
  ],
  [
    'nobody has it, but what there is to do came only just now',
    { at: flat, behind: [0, 0, 0, 1, 1], owned: always(false) },
    'ok',
  ],
  [
    'nobody has it, but it went on until just now',
    { at: up, behind: [9, 8, 7, 6, 5], owned: always(false) },
    'ok',
  ],
  ['it was turned back', { at: [10, 20, 30, 5, 6], behind: [1, 1, 1, 25, 24] }, 'rewind'],
  [
    'it was turned back from where it had no lag',
    { at: [10, 20, 30, 0, 0], behind: [0, 0, 0, 30, 30] },
    'rewind',
  ],
  [
    'it was turned back while nobody had it',
    { at: [9, 9, 9, 9, 0], behind: [1, 1, 1, 1, 9], owned: always(false) },
    'rewind',
  ],
  ['it was turned back, and is where it was', { at: [10, 20, 5, 15, 20], behind: [9, 3, 9, 3, 9] }, 'ok'],
  [
    'it was turned back and is further on, but falls behind',
    { at: [10, 20, 5, 20, 25], behind: [1, 2, 3, 4, 5] },
    'warn',
  ],
  [
    'it was turned back twice, and came back once',
    { at: [10, 20, 5, 20, 7], behind: [3, 3, 3, 3, 3] },
    'rewind',
  ],
  [
    'it was turned back to where nothing is left to do',
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
    ['falling behind is not yet told', { at: [10, 20, 30, 40], behind: [1, 2, 3, 4] }, 'ok'],
    ['standing still is not yet told', { at: [10, 10, 10, 10], behind: [1, 2, 3, 4] }, 'ok'],
    [
      'having nobody is not yet told',
      { at: [10, 10, 10, 10], behind: [1, 2, 3, 4], owned: always(false) },
      'ok',
    ],
    ['being turned back is told at once', { at: [10, 9], behind: [1, 2] }, 'rewind'],
  ]
  test.each(short)('%s', (_, row, expected) => {
    expect(statusOf(windowOf(row), OBSERVATIONS)).toBe(expected)
  })
})
