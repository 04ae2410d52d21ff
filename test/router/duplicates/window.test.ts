import { array, assert, integer, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { createWindow, type Entry } from '../../../router/duplicates/window.ts'

const windowMs = 1_000
const maxIds = 20

const entry = (id: number, offset: number, time = 0): Entry => ({ high: id, low: id + 1, offset, time })

/** `time`: the partition's, when the id was admitted. */
type Admitted = { id: number; offset: number; time: number }

/** `undefined` between the window and twice the window. */
function expected(
  admitted: readonly Admitted[],
  { high: id, offset }: Entry,
  now: number,
): boolean | undefined {
  // an id that is routed again after a crash does not count again
  const since = new Set<number>()
  let rule: boolean | undefined = true
  for (const one of admitted.toReversed()) {
    if (one.id === id && one.offset < offset) {
      if (now - one.time <= windowMs && since.size < maxIds) return false
      if (now - one.time <= 2 * windowMs && since.size <= 2 * maxIds) rule = undefined
    }
    since.add(one.id)
  }
  return rule
}

const step = record({
  id: integer({ min: 1, max: 60 }),
  // also back, as after a crash
  by: integer({ min: -5, max: 5 }),
  // also clocks that are behind
  later: integer({ min: -100, max: 300 }),
})

test('an id is a duplicate within the window, may be one up to twice that, and never of itself', () => {
  assert(
    property(array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const window = createWindow({ windowMs, maxIds })
      const admitted: Admitted[] = []
      let offset = 2 ** 32 - 100
      let now = Number.NEGATIVE_INFINITY
      let time = 0
      for (const { id, by, later } of steps) {
        offset += by
        time += later
        now = Math.max(now, time)
        const given = entry(id, offset, time)
        const rule = expected(admitted, given, now)
        const isAdmitted = window.admit(given)
        if (rule !== undefined && isAdmitted !== rule) return false
        if (isAdmitted) admitted.push({ id, offset, time: now })
      }
      return window.size() <= 2 * maxIds
    }),
    { numRuns: 300 },
  )
})

test('a repeated event is a duplicate immediately and up to the end of the window', () => {
  const window = createWindow({ windowMs })
  expect(window.admit(entry(1, 10))).toBe(true)
  expect(window.admit(entry(1, 11))).toBe(false)
  expect(window.admit(entry(1, 12, windowMs))).toBe(false)
  expect(window.admit(entry(2, 13, windowMs + 1))).toBe(true)
  expect(window.admit(entry(1, 14, 2 * windowMs))).toBe(false)
})

test('an id is forgotten after twice the window, even on a quiet partition', () => {
  const window = createWindow({ windowMs })
  window.admit(entry(1, 10))
  expect(window.admit(entry(1, 11, 2 * windowMs + 1))).toBe(true)
})

test('a repeated id takes no further space', () => {
  const window = createWindow({ windowMs, maxIds })
  window.admit(entry(1, 10))
  for (let again = 0; again < 3 * maxIds; again++) expect(window.admit(entry(2, 11))).toBe(true)
  expect(window.admit(entry(1, 12))).toBe(false)
})

test('a re-routed event is not a duplicate of itself, and a later one still is', () => {
  const window = createWindow({ windowMs })
  window.recall(entry(1, 10))
  expect(window.admit(entry(1, 10))).toBe(true)
  expect(window.admit(entry(1, 20))).toBe(false)
  expect(window.admit(entry(1, 10))).toBe(true)
  expect(window.admit(entry(1, 20))).toBe(false)
})

test('remembering the later of two events never hides the earlier one', () => {
  const window = createWindow({ windowMs })
  window.recall(entry(1, 20))
  expect(window.admit(entry(1, 10))).toBe(true)
  expect(window.admit(entry(1, 20))).toBe(false)
})

test('holds at most maxIds ids twice', () => {
  const window = createWindow({ windowMs, maxIds })
  let most = 0
  for (let id = 1; id <= 5 * maxIds; id++) {
    window.admit(entry(id, id))
    most = Math.max(most, window.size())
  }
  expect(most).toBe(2 * maxIds)
})

test('an id is known after maxIds further ids, and not after twice as many', () => {
  const window = createWindow({ windowMs, maxIds })
  window.admit(entry(1, 1))
  for (let id = 2; id <= maxIds; id++) window.admit(entry(id, id))
  expect(window.admit(entry(1, 100))).toBe(false)
  for (let id = 100; id < 101 + 2 * maxIds; id++) window.admit(entry(id, id))
  expect(window.admit(entry(1, 1_000))).toBe(true)
})

test('an event with a slow clock makes the window forget nothing', () => {
  const window = createWindow({ windowMs, maxIds: 2 })
  window.admit(entry(1, 10, 5_000))
  window.admit(entry(2, 11, 5_000))
  window.admit(entry(3, 12, 0))
  expect(window.admit(entry(2, 13, 5_001))).toBe(false)
})

test('an id recalled late is known from then on, until it is too old', () => {
  const window = createWindow({ windowMs })
  expect(window.admit(entry(1, 20, 500))).toBe(true)
  window.recall(entry(2, 10, 100))
  expect(window.admit(entry(2, 21, 600))).toBe(false)
  window.admit(entry(3, 22, 100 + 2 * windowMs + 1))
  expect(window.admit(entry(2, 23, 100 + 2 * windowMs + 1))).toBe(true)
  window.recall(entry(4, 11, 100))
  expect(window.admit(entry(4, 24, 100 + 2 * windowMs + 1))).toBe(true)
  expect(window.room()).toBe(0)
})

test('no more ids are recalled than fit', () => {
  const window = createWindow({ windowMs, maxIds })
  for (let id = 1; id <= maxIds + 5; id++) window.recall(entry(id, id))
  expect(window.size()).toBe(maxIds)
  expect(window.room()).toBe(0)
})
