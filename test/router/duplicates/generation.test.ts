import { expect, test } from 'vitest'
import { createGeneration, isBefore, MAX_IDS } from '../../../router/duplicates/window.ts'

/** Well-spread hashes, without the price of SHA-256. */
const spread = (n: number) => ({ high: Math.imul(n, 0x9e3779b1) >>> 0, low: Math.imul(n, 0x85ebca77) >>> 0 })

test('two generations of a million ids stay within 32 MB, even while one grows, and all are found with their offsets', () => {
  const generation = createGeneration()
  let refused = 0
  for (let n = 1; n <= MAX_IDS; n++) if (!generation.put(spread(n), n)) refused += 1
  expect(refused).toBe(0)
  expect(generation.isFull()).toBe(true)
  expect(generation.put(spread(MAX_IDS + 1), 1)).toBe(false)
  let lost = 0
  for (let n = 1; n <= MAX_IDS; n += 997) if (generation.find(spread(n)) !== n) lost += 1
  expect(lost).toBe(0)
  expect(generation.find(spread(MAX_IDS + 1))).toBeUndefined()
  // while one of the 64 segments grows for the last time, its table of 17,040 slots is still there
  expect(2 * generation.bytes() + 17_040 * 12).toBeLessThanOrEqual(32 * 2 ** 20)
})

test('while ids come, they take at most 22 bytes each', () => {
  const generation = createGeneration()
  let most = 0
  for (let n = 1; n <= MAX_IDS; n++) {
    generation.put(spread(n), n)
    if (n >= 50_000 && n % 5_000 === 0) most = Math.max(most, generation.bytes() / n)
  }
  expect(most).toBeLessThanOrEqual(22)
})

test('a quiet partition takes kilobytes', () => {
  const generation = createGeneration()
  expect(generation.bytes()).toBe(0)
  for (let n = 1; n <= 100; n++) generation.put(spread(n), n)
  expect(generation.bytes()).toBeLessThan(10_000)
})

/** Close together, as somebody may choose them. */
const picked: Record<string, (n: number) => { high: number; low: number }> = {
  'with one upper half': (n) => ({ high: 7, low: spread(n).low }),
  'with the same upper bits': (n) => ({ high: spread(n).high >>> 6, low: spread(n).low }),
  'with one lower half': (n) => ({ high: spread(n).high, low: 7 }),
  'with the same upper bits of the lower half': (n) => ({ high: spread(n).high, low: spread(n).low >>> 16 }),
  'one after the other': (n) => ({ high: 0, low: n }),
}

test.each(Object.entries(picked))('400,000 ids %s fill no segment early', (_what, of) => {
  const generation = createGeneration()
  // `expect` costs ten times what `put` does
  let refused = 0
  for (let n = 1; n <= 400_000; n++) if (!generation.put(of(n), n)) refused += 1
  expect(refused).toBe(0)
  expect(generation.isFull()).toBe(false)
  expect(generation.find(of(1))).toBe(1)
})

test('of two offsets of one id the lower is kept', () => {
  const generation = createGeneration()
  for (const offset of [7, 5, 9]) generation.put(spread(1), offset)
  expect(generation.find(spread(1))).toBe(5)
  expect(generation.size()).toBe(1)
})

test('offsets are compared across the 32-bit boundary', () => {
  expect(isBefore(2 ** 32 - 1, 2 ** 32 + 3)).toBe(true)
  expect(isBefore(2, 2 ** 32 - 1)).toBe(false)
  expect(isBefore(5, 5)).toBe(false)
  expect(isBefore(undefined, 5)).toBe(false)
})
