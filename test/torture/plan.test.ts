import fc from 'fast-check'
import { expect, test } from 'vitest'
import { furthestAhead, lengthOf, type Planned, plan } from '../../torture/plan.ts'

const seeds = fc.record({
  seed: fc.integer(),
  forMs: fc.integer({ min: 0, max: 3_600_000 }),
  endpoints: fc.integer({ min: 1, max: 20 }),
  clocks: fc.boolean(),
})

const half = { forMs: 30 * 60_000, endpoints: 8, clocks: true }
const isStep = ({ fault }: Planned) => fault.kind === 'step-clock'

test('one seed has one plan', () => {
  fc.assert(fc.property(seeds, (options) => void expect(plan(options)).toEqual(plan(options))))
})

test('two seeds have two', () => {
  const of = (seed: number) => plan({ ...half, seed })
  expect(of(1)).not.toEqual(of(2))
})

test('faults of processes and of the broker never overlap, and all begin within the run', () => {
  fc.assert(
    fc.property(seeds, (options) => {
      const planned = plan(options)
      let free = 0
      const overlapping = planned.filter(({ at, fault }) => {
        if (fault.kind === 'endpoint' || fault.kind === 'step-clock') return false
        const isEarly = at < free
        free = at + lengthOf(fault)
        return isEarly
      })
      // hundreds of faults: an `expect` for each costs too much
      expect(overlapping).toEqual([])
      expect(planned.filter(({ at }) => at >= options.forMs)).toEqual([])
      expect(
        planned.filter(({ fault }) => fault.kind === 'endpoint' && fault.endpoint >= options.endpoints),
      ).toEqual([])
    }),
  )
})

test('ten minutes have the broker away for a minute, and each kind of fault', () => {
  const faults = plan({ ...half, seed: 7 }).map(({ fault }) => fault)
  expect(faults.some((fault) => fault.kind === 'kill-broker' && fault.forMs === 60_000)).toBe(true)
  expect(new Set(faults.map(({ kind }) => kind)).size).toBe(12)
})

test('without clocks a seed has the same other faults, and no steps', () => {
  fc.assert(
    fc.property(seeds, (options) => {
      const withThem = plan({ ...options, clocks: true })
      expect(plan({ ...options, clocks: false })).toEqual(withThem.filter((each) => !isStep(each)))
    }),
  )
})

test('clocks of each role are set forward and back by up to ten minutes', () => {
  const steps = plan({ ...half, seed: 7 }).flatMap(({ fault }) =>
    fault.kind === 'step-clock' ? [fault] : [],
  )
  const seconds = steps.map((step) => step.seconds)
  expect(new Set(steps.map(({ role }) => role)).size).toBe(4)
  expect(Math.min(...seconds)).toBeLessThan(-300)
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(-600)
  expect(Math.max(...seconds)).toBeGreaterThan(300)
  expect(Math.max(...seconds)).toBeLessThanOrEqual(600)
})

test('every clock is right before the end', () => {
  fc.assert(
    fc.property(seeds, (options) => {
      const off = new Map<string, number>()
      for (const { fault } of plan(options))
        if (fault.kind === 'step-clock') off.set(fault.role, fault.seconds)
      expect([...off.values()].every((seconds) => seconds === 0)).toBe(true)
    }),
  )
})

test('the furthest that a clock is ahead is that of the largest step forward', () => {
  const step = (seconds: number): Planned => ({
    at: 0,
    fault: { kind: 'step-clock', role: 'router', seconds },
  })
  expect(furthestAhead([step(5), step(-300), step(90), step(0)])).toBe(90_000)
  expect(furthestAhead([step(-300)])).toBe(0)
})
