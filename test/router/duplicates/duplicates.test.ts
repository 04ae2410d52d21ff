import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../../../process/log.ts'
import { createDuplicates, type DuplicatesOptions } from '../../../router/duplicates/duplicates.ts'
import { pack } from '../../../router/duplicates/seen-topic.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const partition = { topic: 'events', partition: 0 }
const away = () => Promise.reject(new Error('Kafka is away'))
const never = () => new Promise<never>(() => undefined)

/** `router.seen` has one record, which can be read unless `reader` says otherwise. */
function remembering(reader: Partial<DuplicatesOptions['reader']>) {
  const loads: string[] = []
  const { of, watch } = createDuplicates({
    reader: {
      partitions: 1,
      bounds: async () => new Map([[0, { low: 0, high: 1 }]]),
      read: async () => undefined,
      ...reader,
    },
    producer: { produce: async () => 'acked' },
    windowMs: 1_000,
    onLoad: (outcome) => void loads.push(outcome),
    onUnwritten: () => undefined,
    log: createLog({ role: 'start', level: 'silent' }),
    failures: { add: () => undefined },
  })
  return { loads, of, watch, mayRoute: () => of(0) !== undefined }
}

test('a partition waits until its ids are loaded, however often loading fails', async () => {
  const bounds = vi
    .fn(async () => new Map())
    .mockImplementationOnce(away)
    .mockImplementationOnce(away)
  const { loads, watch, mayRoute } = remembering({ bounds })
  watch.gained([partition])
  await vi.advanceTimersByTimeAsync(499)
  expect(mayRoute()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(mayRoute()).toBe(true)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(loads).toEqual(['loaded'])
})

test('loading stops for a partition lost before the next try, so no rejection ends the process', async () => {
  const bounds = vi.fn(away)
  const { watch } = remembering({ bounds })
  watch.gained([partition])
  await vi.advanceTimersByTimeAsync(100)
  watch.lost(partition)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(bounds).toHaveBeenCalledTimes(1)
})

test('a partition whose ids cannot be read continues after 2 s, and counts as late', async () => {
  const { loads, watch, mayRoute } = remembering({ read: never })
  watch.gained([partition])
  await vi.advanceTimersByTimeAsync(1_999)
  expect(mayRoute()).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(mayRoute()).toBe(true)
  expect(loads).toEqual(['late'])
})

test('a partition lost meanwhile is not routed; when it returns it waits again', async () => {
  const { loads, watch, mayRoute } = remembering({ read: never })
  watch.gained([partition])
  await vi.advanceTimersByTimeAsync(1_000)
  watch.lost(partition)
  watch.gained([partition])
  await vi.advanceTimersByTimeAsync(1_500)
  expect(mayRoute()).toBe(false)
  watch.lost(partition)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(loads).toEqual([])
})

test('an event that Kafka has lost is not a duplicate when it is sent again', async () => {
  const kept = { high: 1, low: 1, offset: 20, time: 0 }
  const lost = { high: 1, low: 2, offset: 40, time: 0 }
  const { of, watch } = remembering({
    read: async (_, onValue) => void onValue(pack([kept, lost]), 0, { key: null, timestamp: 0 }),
  })
  watch.gained([{ ...partition, lostFrom: 30 }])
  await vi.advanceTimersByTimeAsync(0)
  expect(of(0)?.admit({ ...kept, offset: 50 })).toBe(false)
  expect(of(0)?.admit({ ...lost, offset: 50 })).toBe(true)
})
