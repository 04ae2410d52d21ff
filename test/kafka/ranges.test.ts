import { expect, test } from 'vitest'
import { rangesByTime } from '../../kafka/tables/ranges.ts'
import { connectionOf } from '../helpers/kafkajs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** A partition whose records have these times, and an admin that answers like Kafka. */
function aLog(times: readonly number[]) {
  const admin = () => ({
    connect: async () => {},
    disconnect: async () => {},
    async fetchTopicOffsetsByTimestamp(_topic: string, at: number) {
      const first = times.findIndex((time) => time >= at)
      return [{ partition: 0, offset: String(first < 0 ? times.length : first) }]
    },
  })
  return connectionOf({ admin })
}

const within = async (times: readonly number[], from: number, to: number) => {
  const ranges = await rangesByTime(aLog(times), { topic: 'events', from, to })
  const offsets = ranges.flatMap((range) =>
    times
      .keys()
      .filter((at) => at >= range.from && at < range.to)
      .toArray(),
  )
  return offsets.map((offset) => times[offset] ?? 0).filter((time) => time >= from && time < to)
}

test('a range of time has every record of that time, even after one whose writer’s clock is ahead', async () => {
  const times = [-2, 1, 4, 12, 5, 9, 11, 6].map((minutes) => minutes * MINUTE)
  expect(await within(times, 0, 10 * MINUTE)).toEqual([1, 4, 5, 9, 6].map((minutes) => minutes * MINUTE))
  expect(await within(times, 10 * MINUTE, HOUR)).toEqual([12 * MINUTE, 11 * MINUTE])
})

test('a range up to now has every record, even after one that is as far ahead as Kafka takes', async () => {
  const now = 20 * MINUTE
  const times = [1, 2 + 60, 3, 4 + 30, 19].map((minutes) => minutes * MINUTE)
  expect(await within(times, 0, now)).toEqual([1, 3, 19].map((minutes) => minutes * MINUTE))
})

test('a range of time is not read much further than clocks may differ', async () => {
  const times = Array.from({ length: 200 }, (_, index) => index * MINUTE)
  const [range] = await rangesByTime(aLog(times), { topic: 'events', from: HOUR, to: 2 * HOUR })
  expect(range).toEqual({ partition: 0, from: 60, to: 190 })
})

test('a range of time without records is left out', async () => {
  expect(await within([0, 10 * MINUTE], HOUR, 2 * HOUR)).toEqual([])
})
