import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { windowFromParams, windowQuery } from '../../console/src/ui/activity/window.ts'
import { barsOf, HEIGHT, WIDTH } from '../../console/src/ui/chart/bars.ts'
import { healthRows } from '../../console/src/views/overview/destination-state.ts'
import { aDestination } from '../helpers/events.ts'

test.each(['1h', '24h'] as const)('window %s survives the page’s address', (window) => {
  expect(windowFromParams(new URLSearchParams(windowQuery(window)))).toBe(window)
})

test('an unknown window in the address shows the last hour', () => {
  expect(windowFromParams(new URLSearchParams('window=7d'))).toBe('1h')
})

describe('the bars of a sparkline', () => {
  test('are as high as their count, the failures on top of the deliveries', () => {
    const { lower, upper } = barsOf([26, 13, 0, null], [0, 13, 0, null])
    expect(lower.map(({ x, y, height }) => [x, y, height])).toEqual([
      [0, 2, 26],
      [30, 15, 13],
    ])
    expect(upper.map(({ x, y, height }) => [x, y, height])).toEqual([[30, 2, 13]])
  })

  test('show one failure among thousands of deliveries', () => {
    expect(barsOf([100_000], [1]).upper).toMatchObject([{ height: 2 }])
  })

  test('stay inside the picture', () => {
    const count = fc.option(fc.nat(1_000_000))
    fc.assert(
      fc.property(fc.array(fc.tuple(count, count), { maxLength: 60 }), (counts) => {
        const { lower, upper } = barsOf(
          counts.map(([one]) => one),
          counts.map(([, other]) => other),
        )
        for (const { x, y, width, height } of [...lower, ...upper]) {
          expect(Math.min(x, y, width, height)).toBeGreaterThanOrEqual(0)
          expect(x + width).toBeLessThanOrEqual(WIDTH + 0.1)
          expect(y + height).toBeLessThanOrEqual(HEIGHT + 0.1)
        }
      }),
    )
  })
})

test('destinations without activity have a row too, those in trouble first', () => {
  const now = {
    ...{ delivered: 0, rejected: 0, retry: 0, refused: 0, deferred: 0, dead: 0, p50: null, p99: null },
    ...{ breaker: 'closed' as const, rejectedStatus: null },
  }
  const rows = healthRows([aDestination({ id: 'fine' }), aDestination({ id: 'bad' })], {
    health: [
      { ...now, destinationId: 'fine', state: 'healthy' },
      { ...now, destinationId: 'bad', state: 'failing' },
    ],
    activity: [],
  })
  expect(rows).toMatchObject([
    { destination: { id: 'bad' }, activity: undefined, state: { label: 'Failing' } },
    { destination: { id: 'fine' }, state: { label: 'Healthy' } },
  ])
})
