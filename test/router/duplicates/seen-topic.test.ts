import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Produced } from '../../../kafka/produce/produce.ts'
import { seenWriter } from '../../../router/duplicates/seen-topic.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aWriter() {
  const sent: ((outcome: Produced) => void)[] = []
  const unwritten: number[] = []
  let offset = 0
  const { write } = seenWriter(
    {
      producer: { produce: () => new Promise((resolve) => void sent.push(resolve)) },
      onUnwritten: (ids) => void unwritten.push(ids),
    },
    0,
  )
  return {
    sent,
    unwritten,
    /** As if its deliveries had just been written. */
    remember() {
      const outcomes: string[] = []
      const written = write({ hash: 1n, offset: offset++, time: 0 } as never)
      void written().then((outcome) => void outcomes.push(outcome))
      return outcomes
    },
    write: () => write({ hash: 1n, offset: offset++, time: 0 } as never),
  }
}

test('an id waits for its record', async () => {
  const writer = aWriter()
  const outcomes = writer.remember()
  await vi.advanceTimersByTimeAsync(1_500)
  expect(outcomes).toEqual([])
  writer.sent[0]?.('acked')
  await vi.advanceTimersByTimeAsync(0)
  expect([outcomes, writer.unwritten]).toEqual([['acked'], []])
})

test('for two seconds at most, and later ones do not wait until a record is written again', async () => {
  const writer = aWriter()
  const [one, two] = [writer.remember(), writer.remember()]
  await vi.advanceTimersByTimeAsync(2_000)
  expect([one, two, writer.unwritten]).toEqual([['unwritten'], ['unwritten'], [2]])
  const next = writer.remember()
  await vi.advanceTimersByTimeAsync(0)
  expect(next).toEqual(['unwritten'])
  await vi.advanceTimersByTimeAsync(100)
  for (const resolve of writer.sent) resolve('acked')
  await vi.advanceTimersByTimeAsync(0)
  const last = writer.remember()
  await vi.advanceTimersByTimeAsync(1_999)
  expect(last).toEqual([])
})

test('the time until its deliveries are written does not count', async () => {
  const writer = aWriter()
  const written = writer.write()
  await vi.advanceTimersByTimeAsync(60_000)
  writer.sent[0]?.('acked')
  expect(await written()).toBe('acked')
  expect(writer.unwritten).toEqual([])
})

test.each<[Produced, string, number[]]>([
  ['refused', 'unwritten', [1]],
  ['full', 'unwritten', [1]],
  ['unknown', 'unknown', []],
])('a record that is %s is %s', async (outcome, expected, unwritten) => {
  const writer = aWriter()
  const outcomes = writer.remember()
  await vi.advanceTimersByTimeAsync(100)
  writer.sent[0]?.(outcome)
  await vi.advanceTimersByTimeAsync(0)
  expect([outcomes, writer.unwritten]).toEqual([[expected], unwritten])
})
