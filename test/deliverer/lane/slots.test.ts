import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Slot, Slots } from '../../../deliverer/lane/slots.ts'

/** As the lane asks for a prompt POST: it ages the slots first. */
function isFree(slots: Slots, now: number): boolean {
  slots.age(now)
  return slots.isFree('prompt', now)
}

test('a budget of two admits two, and a third when one has ended', () => {
  const slots = new Slots(2)
  const first = slots.take('prompt', { prompt: 0 }, 0)
  slots.take('prompt', { prompt: 0 }, 0)
  expect(slots.isFree('prompt', 0)).toBe(false)
  slots.release(first)
  expect(slots.isFree('prompt', 0)).toBe(true)
})

test('a POST in flight for a second returns its slot and continues, up to twice the budget in all', () => {
  const slots = new Slots(2)
  const taken = [slots.take('prompt', { prompt: 0 }, 0), slots.take('prompt', { prompt: 0 }, 0)]
  expect(isFree(slots, 1_000)).toBe(false)
  expect(isFree(slots, 1_001)).toBe(true)
  taken.push(slots.take('prompt', { prompt: 0 }, 1_001), slots.take('prompt', { prompt: 0 }, 1_001))
  expect([isFree(slots, 4_000), slots.count()]).toEqual([false, { prompt: 2, late: 2 }])
  for (const slot of taken.slice(0, 2)) slots.release(slot)
  expect([isFree(slots, 4_000), slots.count()]).toEqual([true, { prompt: 0, late: 2 }])
})

test('slow POSTs have separate slots', () => {
  const slots = new Slots(1)
  const slow = slots.take('slow', { prompt: 0 }, 0)
  expect([slots.isFree('slow', 0), slots.isFree('prompt', 0)]).toEqual([false, true])
  slots.release(slow)
  expect([slots.isFree('slow', 50), slots.count()]).toEqual([true, { prompt: 0, late: 0 }])
})

test.each([
  [1, 1],
  [3, 1],
  [8, 2],
])('of a budget of %d, doubtful POSTs get %d', (budget, most) => {
  const slots = new Slots(budget)
  let begun = 0
  for (; slots.isFree('doubtful', 0); begun++) slots.take('doubtful', { prompt: 0 }, 0)
  expect(begun).toBe(most)
})

test('slow POSTs do not begin all at once: a 64th of the budget, then an eighth in 50 ms', () => {
  const slots = new Slots(640)
  const begins: number[] = []
  for (let now = 100; now <= 200; now += 5)
    for (; slots.isFree('slow', now); begins.push(now)) slots.take('slow', { prompt: 0 }, now)
  const within = (from: number, to: number) => begins.filter((now) => from <= now && now <= to).length
  expect([within(100, 100), within(105, 105), within(101, 150), within(151, 200)]).toEqual([10, 8, 80, 80])
})

test('POSTs in flight are counted, and never exceed twice the budget', () => {
  type Step = { take: true } | { take: false; index: number }
  const step = fc.oneof(
    fc.constant<Step>({ take: true }),
    fc.record({ take: fc.constant<false>(false), index: fc.nat(20) }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.tuple(step, fc.nat(700))), (budget, steps) => {
      const slots = new Slots(budget)
      const out: Slot[] = []
      let now = 0
      for (const [each, later] of steps) {
        now += later
        if (!each.take) {
          for (const slot of out.splice(each.index % (out.length + 1), 1)) slots.release(slot)
        } else if (isFree(slots, now)) out.push(slots.take('prompt', { prompt: 0 }, now))
        const { prompt, late } = slots.count()
        expect(prompt + late).toBe(out.length)
        expect(prompt).toBeLessThanOrEqual(budget)
        expect(late).toBeLessThanOrEqual(budget)
      }
    }),
  )
})
