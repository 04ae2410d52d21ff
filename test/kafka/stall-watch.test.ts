import { expect, test } from 'vitest'
import { StallWatch } from '../../kafka/produce/queue/stall-watch.ts'

function aWatch() {
  const said: unknown[] = []
  const log = (...line: unknown[]) => void said.push(line)
  /** Undefined while no broker answers. */
  const reachable: { since: number | undefined } = { since: 0 }
  const failures = { reachableSince: () => reachable.since }
  return { watch: new StallWatch({ failures, log: { info: log, warn: log } }), said, reachable }
}

const records = ['a', 'b', 'a'].map((topic) => ({ topic }))

test('a send that waits for 10 s although brokers answer is logged once with its topics, and its end too', () => {
  const { watch, said } = aWatch()
  watch.began(records, 1_000)
  watch.check(10_999)
  expect(said).toEqual([])
  watch.check(11_000)
  watch.check(12_000)
  const topics = ['a', 'b']
  expect(said).toEqual([[{ topics }, 'Kafka does not take writes']])
  watch.ended(3, 16_400)
  watch.check(60_000)
  expect(said.slice(1)).toEqual([[{ topics, seconds: 15 }, 'Kafka takes writes again']])
})

test('while no broker answers, nothing is logged, and the wait counts from the first answer', () => {
  const { watch, said, reachable } = aWatch()
  reachable.since = undefined
  watch.began(records, 0)
  watch.check(20_000)
  reachable.since = 20_000
  watch.check(29_999)
  expect(said).toEqual([])
  watch.check(30_000)
  expect(said).toHaveLength(1)
})

test('Kafka counts as stalled for as long as the send waits, and not between sends', () => {
  const { watch } = aWatch()
  expect(watch.stalledMs(5_000, 0)).toBe(0)
  watch.began(records, 5_000)
  expect(watch.stalledMs(7_000, 0)).toBe(2_000)
  watch.ended(3, 8_000)
  expect(watch.stalledMs(9_000, 0)).toBe(0)
})

test('records that wait for their partition count, unless others were acknowledged meanwhile', () => {
  const { watch } = aWatch()
  watch.began(records, 0)
  watch.ended(3, 1_000)
  expect(watch.stalledMs(4_000, 2_000)).toBe(2_000)
  expect(watch.stalledMs(4_000, 3_500)).toBe(0)
  // nothing of this send is written
  watch.began(records, 4_000)
  watch.ended(0, 5_000)
  expect(watch.stalledMs(6_000, 4_000)).toBe(4_000)
})
