import { expect, onTestFinished, test } from 'vitest'
import { type ReadBackOptions, readBack } from '../../../../control/activity/figures/read-back.ts'
import { until } from '../../../helpers/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const now = Date.parse('2026-01-02T03:04:15.000Z')

/** Ages in minutes, oldest first, by partition. `tail`: how many the tail has read. */
function reading(partitions: readonly number[][], more: { tail?: number } & Partial<ReadBackOptions> = {}) {
  const { tail = 0, ...options } = more
  const times = partitions.map((ages) => ages.map((age) => now - age * MINUTE))
  const seen: string[] = []
  const failures: unknown[] = []
  let failsAt: string | undefined
  let opened = 0
  let closed = 0
  const back = readBack({
    begun: times.map((all, partition) => ({ topic: 'attempts', partition, low: 0, from: all.length - tail })),
    async open() {
      opened += 1
      return {
        offsets: {
          bounds: async () => times.map(({ length }, partition) => ({ partition, low: 0, end: length })),
          at: async (_, time) =>
            times.map((all, partition) => {
              const offset = all.findIndex((at) => at >= time)
              return { partition, offset: offset < 0 ? all.length : offset }
            }),
          close: async () => undefined,
        },
        async read({ partition, from, to }, onValue) {
          for (let offset = from; offset < to; offset++) {
            const place = `${partition}/${offset}`
            if (place === failsAt) {
              failsAt = undefined
              throw new Error('no broker')
            }
            onValue(Buffer.from(place), offset, { key: null, timestamp: 0 })
          }
        },
        close: async () => {
          closed += 1
        },
      }
    },
    onRecord: (value) => void seen.push(String(value)),
    onFailed: (error) => void failures.push(error),
    now: () => now,
    retryMs: 1,
    ...options,
  })
  onTestFinished(() => back.close())
  const failAt = (place: string) => {
    failsAt = place
  }
  return { ...back, seen, failures, failAt, opened: () => opened, closed: () => closed }
}

test('nothing is read if the tails began at the start of their partitions', () => {
  const { since, opened } = reading([[9, 8], [7]], {
    tail: 0,
    begun: [{ topic: 'attempts', partition: 0, low: 3, from: 3 }],
  })
  expect([since(), opened()]).toEqual([null, 0])
})

test('each record of the last day is read once, and none from before', async () => {
  const back = reading(
    [
      [60 * 30, 60 * 23, 60 * 2, 3, 2],
      [60 * 5, 1],
    ],
    { tail: 1, chunk: 1 },
  )
  expect(back.since()).toBe(now)
  await until(() => back.since() === null)
  expect(back.seen.toSorted()).toEqual(['0/1', '0/2', '0/3', '1/0'])
  // the latest first
  expect(back.seen[0]).toBe('0/3')
  expect(back.failures).toEqual([])
  await until(() => back.closed() === 1)
})

test('it stops after so many records, and says how far it got', async () => {
  const back = reading([[200, 100, 62, 61, 4, 3, 0]], { tail: 1, most: 3, chunk: 1 })
  await until(() => back.closed() === 1)
  expect(back.seen).toEqual(['0/4', '0/5', '0/2'])
  // the step from 02:00 on is not complete
  expect(back.since()).toBe(Date.parse('2026-01-02T03:00:00.000Z'))
})

test('steps with few records are read together', async () => {
  const back = reading([[60 * 20, 60 * 10, 5, 0]], { tail: 1 })
  await until(() => back.since() === null)
  expect(back.seen).toEqual(['0/0', '0/1', '0/2'])
})

test('after a failure it continues behind the last record, so none counts twice', async () => {
  const back = reading([[180, 14, 13, 12, 0]], { tail: 1 })
  back.failAt('0/2')
  await until(() => back.since() === null)
  expect(back.seen.toSorted()).toEqual(['0/0', '0/1', '0/2', '0/3'])
  expect([back.failures.length, back.opened(), back.closed()]).toEqual([1, 2, 2])
})

test('it ends at once when it is closed', async () => {
  const back = reading([Array.from({ length: 50_000 }, () => 10), []])
  await back.close()
  expect(back.seen.length).toBeLessThan(50_000)
  expect(back.since()).toBeGreaterThan(now - HOUR)
})
