import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSlots, type Slot } from '../../../deliverer/lane/slots.ts'

test('a budget of two lets two go, and a third when one is back', () => {
  const slots = createSlots(2)
  const first = slots.take(0)
  slots.take(0)
  expect(slots.isFree(0)).toBe(false)
  slots.release(first)
  expect(slots.isFree(0)).toBe(true)
})

test('what has been under way for a second gives its slot back and goes on, twice the budget at most', () => {
  const slots = createSlots(2)
  const taken = [slots.take(0), slots.take(0)]
  expect(slots.isFree(1_000)).toBe(false)
  expect(slots.isFree(1_001)).toBe(true)
  taken.push(slots.take(1_001), slots.take(1_001))
  expect([slots.isFree(4_000), slots.count()]).toEqual([false, { prompt: 2, late: 2 }])
  for (const slot of taken.slice(0, 2)) slots.release(slot)
  expect([slots.isFree(4_000), slots.count()]).toEqual([true, { prompt: 0, late: 2 }])
})

test('counts what is under way, and never lets more than twice the budget be', () => {
  type Step = { take: true } | { take: false; index: number }
  const step = fc.oneof(
    fc.constant<Step>({ take: true }),
    fc.record({ take: fc.constant<false>(false), index: fc.nat(20) }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.tuple(step, fc.nat(700))), (budget, steps) => {
      const slots = createSlots(budget)
      const out: Slot[] = []
      let now = 0
      for (const [each, later] of steps) {
        now += later
        if (!each.take) out.splice(each.index % (out.length + 1), 1).forEach(slots.release)
        else if (slots.isFree(now)) out.push(slots.take(now))
        const { prompt, late } = slots.count()
        expect(prompt + late).toBe(out.length)
        expect(prompt).toBeLessThanOrEqual(budget)
        expect(late).toBeLessThanOrEqual(budget)
      }
    }),
  )
})
