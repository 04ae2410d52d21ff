import { expect, test } from 'vitest'
import { AckedEnds } from '../../kafka/produce/acked-ends.ts'
import type { BoundsOf } from '../../kafka/tables/ranges.ts'

function written() {
  const told: object[] = []
  const ends = new AckedEnds((fault) => void told.push(fault))
  const acked = (partition: number, base: number, count: number) =>
    ends.add(new Map([['work', new Map([[partition, { base, count }]])]]))
  /** @param meanwhile happens while the brokers are asked. */
  const compare = (highs: Record<number, number>, meanwhile = () => {}) =>
    ends.compare(async () => {
      meanwhile()
      return boundsOf(highs)
    })
  return { told, acked, compare }
}

const boundsOf = (highs: Record<number, number>): BoundsOf =>
  new Map(Object.entries(highs).map(([partition, high]) => [Number(partition), { low: 0, high }]))

const loss = (partition: number, offset: number, to: number) => ({
  topic: 'work',
  partition,
  cause: 'truncated',
  offset,
  to,
})

test('an offset that is acknowledged again means that the log has lost everything from there on', () => {
  const { told, acked } = written()
  acked(0, 0, 10)
  acked(1, 0, 3)
  acked(0, 10, 5)
  acked(0, -1, 5) // from a broker that does not say it
  acked(0, 20, 4) // of others in between
  expect(told).toEqual([])
  acked(0, 22, 1)
  expect(told).toEqual([loss(0, 24, 22)])
  acked(0, 23, 1)
  expect(told).toHaveLength(1)
})

test('a log that ends before what was acknowledged has lost the rest, which is told once', async () => {
  const { told, acked, compare } = written()
  acked(0, 0, 10)
  acked(1, 0, 10)
  acked(2, 0, 10)
  await compare({ 0: 10, 1: 15, 2: 7, 3: 0 })
  expect(told).toEqual([loss(2, 10, 7)])
  await compare({ 0: 10, 1: 15, 2: 7, 3: 0 })
  acked(2, 7, 1)
  expect(told).toHaveLength(1)
})

test('what is acknowledged while the brokers are asked is no loss', async () => {
  const { told, acked, compare } = written()
  acked(0, 0, 10)
  await compare({ 0: 10 }, () => acked(0, 10, 5))
  expect(told).toEqual([])
  await compare({ 0: 12 }, () => acked(0, 12, 1))
  expect(told).toEqual([loss(0, 15, 12)])
})
