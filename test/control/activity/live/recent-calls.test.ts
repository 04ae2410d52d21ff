import { expect, test } from 'vitest'
import { createRecent } from '../../../../control/activity/live/recent-calls.ts'
import { sourceOf } from '../../../../control/activity/records/subject.ts'
import { EVENTS } from '../../../../schemas/topics.ts'

const call = (timestamp: number, bytes = 10) => ({
  sourceId: 'shop',
  topic: EVENTS as typeof EVENTS,
  partition: 0,
  offset: timestamp,
  timestamp,
  value: Buffer.alloc(bytes),
})
const times = (calls: readonly { timestamp: number }[]) => calls.map(({ timestamp }) => timestamp)

test('the fifty newest calls of each source are held, in whatever order they arrive', () => {
  const recent = createRecent()
  for (const time of [...Array(40).keys()].map((index) => index * 2)) recent.add('shop', call(time))
  for (const time of [...Array(40).keys()].map((index) => index * 2 + 1)) recent.add('shop', call(time))
  recent.add('blog', call(7))
  expect(times(recent.of('shop'))).toEqual([...Array(50).keys()].map((index) => index + 30))
  expect(times(recent.of('blog'))).toEqual([7])
  expect(recent.of('gone')).toEqual([])
})

test('fewer are held if they are large', () => {
  const recent = createRecent()
  for (const time of [1, 2, 3, 4, 5]) recent.add('shop', call(time, 400_000))
  expect(times(recent.of('shop'))).toEqual([4, 5])
})

test('with many sources, the most recently active are held', () => {
  const recent = createRecent(10_000)
  for (const source of ['a', 'b', 'c', 'd']) recent.add(source, call(1, 2_000))
  recent.add('a', call(2, 2_000))
  recent.add('e', call(1, 2_000))
  expect(['a', 'b', 'c', 'd', 'e'].map((source) => recent.of(source).length)).toEqual([2, 0, 0, 1, 1])
})

test.each([
  ['shop/u1', 'shop'],
  ['shop', 'shop'],
  ['shop/a/b', 'shop'],
  ['/u1', ''],
])('the source of key %s is %s', (key, source) => {
  expect(sourceOf(Buffer.from(key))).toBe(source)
})
