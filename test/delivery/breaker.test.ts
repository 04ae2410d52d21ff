import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterPost, afterProbe, type Breaker, type Ended, HEALTHY, permit } from '../../delivery/breaker.ts'

const endOf = (endings: readonly Ended[], from: Breaker = HEALTHY) =>
  endings.reduce((breaker, ended) => afterPost(breaker, ended, 0), from)
const times = (count: number, ended: Ended) => Array.from({ length: count }, () => ended)
const endings = fc.array(fc.constantFrom<Ended>('answered', 'failed', 'timed_out'), { maxLength: 100 })

describe('a breaker', () => {
  test.each<Ended>(['failed', 'timed_out'])('opens when five in a row have %s, not before', (ended) => {
    expect(endOf(times(4, ended)).open).toBe(false)
    expect(endOf(times(5, ended)).open).toBe(true)
  })

  test('opens when eleven of the last twenty failed and ten of them timed out, despite some answers', () => {
    const mixed = Array.from({ length: 9 }, () => ['timed_out', 'answered'] as const).flat()
    expect(endOf([...mixed, 'timed_out']).open).toBe(false)
    expect(endOf([...mixed, 'timed_out', 'failed']).open).toBe(true)
    expect(endOf([...mixed, 'failed', 'failed']).open).toBe(false)
  })

  test('stays closed when half of all POSTs get a 5xx, as these cost no time', () => {
    expect(endOf(Array.from({ length: 50 }, () => ['failed', 'answered'] as const).flat()).open).toBe(false)
  })

  test('forgets all but the last twenty POSTs', () => {
    const spread = Array.from({ length: 20 }, () => ['timed_out', 'answered', 'answered'] as const).flat()
    expect(endOf(spread).open).toBe(false)
    // ten of the last twenty, eleven of the last 21
    const half = Array.from({ length: 10 }, () => ['timed_out', 'answered'] as const).flat()
    expect(endOf([...half, 'timed_out']).open).toBe(false)
  })

  test('permits all POSTs while closed, and while open a probe after 1, 2, 4, 8 and then every 10 seconds', () => {
    expect(permit(HEALTHY, 0)).toBe('all')
    let breaker = endOf(times(5, 'timed_out'))
    const probes: number[] = []
    for (let now = 0; now <= 60_000; now += 500) {
      if (permit(breaker, now) !== 'probe') continue
      probes.push(now / 1_000)
      breaker = afterProbe(breaker, now)
    }
    expect(probes).toEqual([1, 3, 7, 15, 25, 35, 45, 55])
  })

  test('records since when nothing has answered', () => {
    const failing = afterPost(afterPost(HEALTHY, 'failed', 7), 'failed', 9)
    expect(failing.failingSince).toBe(7)
    expect(afterPost(failing, 'answered', 10).failingSince).toBeUndefined()
  })

  test('never stays open for a webhook that answers, whatever its history', () => {
    fc.assert(
      fc.property(endings, (before) => {
        expect(endOf([...before, 'answered']).open).toBe(false)
      }),
    )
  })

  test('opens after five failures in a row, whatever its history', () => {
    fc.assert(
      fc.property(endings, (before) => {
        expect(endOf([...before, ...times(5, 'failed')]).open).toBe(true)
      }),
    )
  })
})
