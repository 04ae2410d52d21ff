import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairQueue, MAX_BYTES, MAX_ITEMS } from '../../kafka/produce/queue/fair-queue.ts'

type Item = { flow: string; number: number; bytes: number }

/** The cost of an item and the quantum of a flow, as in fair-queue.ts. */
const COST = 512
const TURN = 16 * 1024

/** Numbers the items of each flow. */
function numbering() {
  const turns = createFairQueue((batch: { count: number; item(place: number): Item }, place) =>
    batch.item(place),
  )
  const added = new Map<string, number>()
  return {
    turns,
    add(flow: string, sizes: readonly number[]): void {
      const first = added.get(flow) ?? 0
      added.set(flow, first + sizes.length)
      const item = (place: number) => ({ flow, number: first + place, bytes: sizes[place] ?? 0 })
      if (sizes.length > 0) turns.add(flow, { count: sizes.length, item })
    },
    added,
  }
}

const sizes = fc.array(fc.oneof(fc.nat(2_000), fc.nat(40_000), fc.nat(1_000_000)), { maxLength: 40 })
const batches = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), sizes), { maxLength: 20 })

test('each item leaves once, in the order of its flow, in sends of bounded size', () => {
  fc.assert(
    fc.property(batches, fc.nat(3), (made, sendsBetween) => {
      const { turns, add, added } = numbering()
      const left = new Map<string, number>()
      function send(): void {
        const items = turns.next()
        expect(items.length).toBeLessThanOrEqual(MAX_ITEMS)
        const bytes = items.reduce((sum, item) => sum + item.bytes, 0)
        expect(items.length === 1 || bytes <= MAX_BYTES).toBe(true)
        for (const { flow, number } of items) {
          expect(number).toBe(left.get(flow) ?? 0)
          left.set(flow, number + 1)
        }
      }
      for (const [flow, each] of made) {
        add(flow, each)
        for (let sends = 0; sends < sendsBetween; sends++) send()
      }
      while (!turns.isEmpty()) send()
      const all = [...added].filter(([, count]) => count > 0)
      expect([...left].toSorted()).toEqual(all.toSorted())
    }),
  )
})

test('waiting flows get equal shares, whatever the size of their items', () => {
  const size = fc.integer({ min: 0, max: 100_000 })
  fc.assert(
    fc.property(size, size, fc.nat(100), (small, large, sends) => {
      const { turns, add } = numbering()
      add('a', Array(100_000).fill(small))
      add('b', Array(100_000).fill(large))
      const sent = { a: 0, b: 0 }
      for (let send = 0; send < sends; send++)
        for (const { flow, bytes } of turns.next()) sent[flow as 'a' | 'b'] += bytes + COST
      expect(Math.abs(sent.a - sent.b)).toBeLessThanOrEqual(TURN + 2 * (Math.max(small, large) + COST))
    }),
    { numRuns: 30 },
  )
})

test('a new item is in one of the next sends, though other flows have much to send', () => {
  const { turns, add } = numbering()
  for (let other = 0; other < 8; other++) add(`other ${other}`, Array(10_000).fill(30_000))
  turns.next()
  add('late', [300])
  const sends = [turns.next(), turns.next()]
  expect(sends.flat().filter(({ flow }) => flow === 'late')).toHaveLength(1)
})

test('items are made only when they are sent', () => {
  const made: number[] = []
  const turns = createFairQueue((_: { count: number }, place) => {
    made.push(place)
    return { bytes: 100_000 }
  })
  turns.add('a', { count: 1_000 })
  turns.next()
  // five fit; the sixth is made to find out
  expect(made).toEqual([0, 1, 2, 3, 4, 5])
  turns.next()
  expect(made).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
})

test('waiting() returns each batch until its last item has left', () => {
  const turns = createFairQueue((_: { name: string; count: number }) => ({ bytes: 300_000 }))
  turns.add('a', { name: 'first', count: 1 })
  turns.add('a', { name: 'second', count: 3 })
  turns.add('b', { name: 'third', count: 1 })
  const names = () =>
    turns
      .waiting()
      .map(({ name }) => name)
      .toSorted()
  expect(names()).toEqual(['first', 'second', 'third'])
  turns.next()
  expect(names()).toEqual(['second', 'third'])
  turns.clear()
  expect([names(), turns.isEmpty(), turns.next()]).toEqual([[], true, []])
})
