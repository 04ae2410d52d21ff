import { expect, test } from 'vitest'
import { load } from '../../../router/duplicates/duplicates.ts'
import { pack, unpack } from '../../../router/duplicates/seen-topic.ts'
import { createWindow, type Entry, type Window } from '../../../router/duplicates/window.ts'

const windowMs = 1_000
const DAY = 86_400_000

/** Ids 0 to `count` - 1, `each` a record, one millisecond apart. */
function topic(count: number, each: number): Buffer[] {
  const ids = Array.from(
    { length: count },
    (_, id): Entry => ({ high: 1, low: id + 1, offset: id, time: id }),
  )
  const records: Buffer[] = []
  for (let from = 0; from < count; from += each) records.push(pack(ids.slice(from, from + each)))
  return records
}

async function loaded(
  records: (Buffer | null)[],
  { low = 0, maxIds = 1_000_000, steps = 100, now = 10 * DAY, lostFrom = Number.POSITIVE_INFINITY } = {},
) {
  const window = createWindow({ windowMs, maxIds })
  const reads: [number, number][] = []
  const unreadable: number[] = []
  await load({
    low,
    high: records.length,
    async read(from, to, onValue) {
      reads.push([from, to])
      for (let offset = from; offset < to; offset++) onValue(records[offset] ?? null, offset)
    },
    isOwned: () => reads.length < steps,
    window,
    windowMs,
    now,
    lostFrom,
    onUnreadable: (offset) => void unreadable.push(offset),
  })
  return { window, reads, unreadable }
}

/** A later event has this id. */
const isKnown = (window: Window, id: number, time: number) =>
  !window.admit({ high: 1, low: id + 1, offset: 1_000_000, time })

test('recalls all ids of the window before the newest id and none older, backwards in growing steps', async () => {
  const { window, reads } = await loaded(topic(50_000, 10))
  expect(window.size()).toBe(windowMs + 1)
  expect(isKnown(window, 48_999, 49_999)).toBe(true)
  expect(isKnown(window, 48_998, 49_999)).toBe(false)
  expect(isKnown(window, 49_999, 49_999)).toBe(true)
  expect(reads).toEqual([
    [4_999, 5_000],
    [4_991, 4_999],
    [4_927, 4_991],
    [4_415, 4_927],
    // all of it is older than the window: the last
    [319, 4_415],
  ])
})

test('of one record that spans many days only the window before its end is recalled', async () => {
  const { window } = await loaded(topic(5_000, 50).slice(-1))
  expect(window.size()).toBe(50)
  const days = [0, DAY].map((time, id): Entry => ({ high: 1, low: id + 1, offset: id, time }))
  const sparse = await loaded([pack(days)])
  expect(isKnown(sparse.window, 1, DAY + 1)).toBe(true)
  expect(isKnown(sparse.window, 0, DAY + 1)).toBe(false)
})

test('if not all fit, the newest are recalled', async () => {
  const { window } = await loaded(topic(900, 1), { maxIds: 20 })
  expect(window.size()).toBe(20)
  expect(isKnown(window, 899, 899)).toBe(true)
  expect(isKnown(window, 880, 899)).toBe(true)
  expect(isKnown(window, 879, 899)).toBe(false)
})

test('a future time makes nothing too old and no read useless, wherever it is', async () => {
  const now = 50_000
  const future = (id: number): Entry => ({ high: 1, low: id + 1, offset: id, time: now + DAY })
  const records = topic(50_000, 10)
  const without = await loaded(records, { now })
  for (let at = 0; at < records.length; at += 100)
    records[at] = pack([...(unpack(records[at] ?? null) ?? []), future(60_000 + at)])
  const { window, reads } = await loaded([...records, pack([future(70_000)])], { now })
  expect(isKnown(window, 48_999, 49_999)).toBe(true)
  expect(isKnown(window, 49_999, 49_999)).toBe(true)
  expect(isKnown(window, 48_998, 49_999)).toBe(false)
  expect(isKnown(window, 70_000, 49_999)).toBe(true)
  expect(reads.length).toBeLessThanOrEqual(without.reads.length + 1)
})

test('a clock behind all of them recalls all', async () => {
  const { window } = await loaded(topic(300, 10), { now: -DAY })
  expect(window.size()).toBe(300)
})

test('ids of events that Kafka has lost are not recalled, from the first one on', async () => {
  const { window } = await loaded(topic(300, 10), { lostFrom: 295 })
  expect(window.size()).toBe(295)
  expect([isKnown(window, 294, 299), isKnown(window, 295, 299)]).toEqual([true, false])
})

test('deleted or unreadable records are skipped', async () => {
  const records: (Buffer | null)[] = topic(300, 10)
  records[29] = Buffer.from('no such thing')
  records[15] = null
  const { window, unreadable } = await loaded(records, { low: 5 })
  expect(unreadable).toEqual([29, 15])
  expect(window.size()).toBe(300 - 50 - 20)
})

test('an empty topic is loaded at once', async () => {
  const { reads } = await loaded([])
  expect(reads).toEqual([])
})

test('reading stops when the partition is lost', async () => {
  const { reads } = await loaded(topic(5_000, 10), { steps: 2 })
  expect(reads).toHaveLength(2)
})
