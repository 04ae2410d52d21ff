import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  capAfterTimeout,
  capAfterUse,
  capAfterWindow,
  MIN_CAP,
} from '../../../deliverer/lane/webhook-queue.ts'

const most = 256

test('doubles in the time of one exchange while it is used up', () => {
  let cap = MIN_CAP
  for (let exchange = 0; exchange < 6; exchange++)
    for (let inFlight = Math.floor(cap), left = inFlight; left > 0; left--)
      cap = capAfterUse(cap, { inFlight: Math.floor(cap), most })
  expect(cap).toBe(most)
})

test('does not grow while there is room below it', () => {
  expect(capAfterUse(8, { inFlight: 7, most })).toBe(8)
})

test('a hundred timeouts at once leave the minimum', () => {
  let cap = most
  for (let each = 0; each < 100; each++) cap = capAfterTimeout(cap)
  expect(cap).toBe(MIN_CAP)
})

test('settles where growth and shrinking balance: near 72 when a tenth times out', () => {
  let cap = MIN_CAP
  for (let each = 0; each < 20_000; each++)
    cap = each % 10 === 0 ? capAfterTimeout(cap) : capAfterUse(cap, { inFlight: Math.floor(cap), most })
  expect(cap).toBeGreaterThan(60)
  expect(cap).toBeLessThan(85)
})

test('unused cap is given up', () => {
  expect(capAfterWindow(200, 10)).toBe(20)
  expect(capAfterWindow(200, 0)).toBe(MIN_CAP)
  expect(capAfterWindow(12, 10)).toBe(12)
})

test('stays between the minimum and half of the budget', () => {
  const step = fc.oneof(
    fc.constant(capAfterTimeout),
    fc.nat(512).map((inFlight) => (cap: number) => capAfterUse(cap, { inFlight, most })),
    fc.nat(512).map((peak) => (cap: number) => capAfterWindow(cap, peak)),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      let cap = MIN_CAP
      for (const each of steps) {
        cap = each(cap)
        expect(cap).toBeGreaterThanOrEqual(MIN_CAP)
        expect(cap).toBeLessThanOrEqual(most)
      }
    }),
  )
})
