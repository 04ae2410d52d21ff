import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lengthOf, plan } from '../../torture/plan.ts'

const seeds = fc.record({
  seed: fc.integer(),
  forMs: fc.integer({ min: 0, max: 3_600_000 }),
  endpoints: fc.integer({ min: 1, max: 20 }),
})

test('one seed has one plan', () => {
  fc.assert(fc.property(seeds, (options) => void expect(plan(options)).toEqual(plan(options))))
})

test('two seeds have two', () => {
  const of = (seed: number) => plan({ seed, forMs: 600_000, endpoints: 8 })
  expect(of(1)).not.toEqual(of(2))
})

test('faults of processes and of the broker never overlap, and all begin within the run', () => {
  fc.assert(
    fc.property(seeds, (options) => {
      let free = 0
      for (const { at, fault } of plan(options)) {
        expect(at).toBeLessThan(options.forMs)
        if (fault.kind === 'endpoint') {
          expect(fault.endpoint).toBeLessThan(options.endpoints)
          continue
        }
        expect(at).toBeGreaterThanOrEqual(free)
        free = at + lengthOf(fault)
      }
    }),
  )
})

test('ten minutes have the broker away for a minute, and each kind of fault', () => {
  const faults = plan({ seed: 7, forMs: 30 * 60_000, endpoints: 8 }).map(({ fault }) => fault)
  expect(faults.some((fault) => fault.kind === 'kill-broker' && fault.forMs === 60_000)).toBe(true)
  expect(new Set(faults.map(({ kind }) => kind)).size).toBe(8)
})
