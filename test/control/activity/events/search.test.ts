import { expect, test } from 'vitest'
import { eventsQueryShape } from '../../../../control/activity/events/matches.ts'
import {
  createEventSearch,
  createSearching,
  type SearchParts,
} from '../../../../control/activity/events/search.ts'
import { partitionOf } from '../../../../kafka/produce/partition.ts'
import type { Event } from '../../../../schemas/event.ts'
import { eventRecord } from '../../../../schemas/event-record.ts'
import { anEvent } from '../../../helpers/events.ts'

const PARTITIONS = 8
const encode = (value: object) => Buffer.from(JSON.stringify(value))
const decode = <T>(value: Buffer | null): { ok: true; value: T } => ({
  ok: true,
  value: JSON.parse(String(value)),
})

/** One record in each partition, whatever its key. */
function searching(events: Partial<Event>[] = [{}], parts: Partial<SearchParts> = {}) {
  const read = { events: new Set<number>(), rejected: new Set<number>() }
  let closed = 0
  const bounds = Array.from({ length: PARTITIONS }, (_, partition) => ({
    partition,
    low: 0,
    end: events.length,
  }))
  const all = events.map((fields) => anEvent(fields))
  const rejected = {
    sourceId: 'shop',
    code: 'c',
    message: 'm',
    raw: '{"userId":"u1"}',
    receivedAt: 0,
    truncated: false,
  }
  const { search } = createEventSearch({
    searching: createSearching(async () => ({
      bounds: async () => bounds,
      at: async () => bounds.map(({ partition }) => ({ partition, offset: 0 })),
      close: async () => {
        closed += 1
      },
    })),
    events: {
      codec: { decode },
      reader: {
        partitions: PARTITIONS,
        async read({ partition }, onValue) {
          read.events.add(partition)
          for (const [offset, event] of all.entries()) {
            const key = Buffer.from(eventRecord(event, encode).key)
            onValue(encode(event), offset, { key, timestamp: 1 })
          }
        },
      },
    },
    rejected: {
      codec: { decode },
      reader: {
        partitions: PARTITIONS,
        async read({ partition }, onValue) {
          read.rejected.add(partition)
          onValue(encode(rejected), 0, { key: Buffer.from('shop'), timestamp: 1 })
        },
      },
    },
    ...parts,
  })
  return {
    search: (asked: object) => search(eventsQueryShape.parse(asked), () => ['crm']),
    read,
    closed: () => closed,
  }
}

test('for a user of one source, only the partition of the key is read', async () => {
  const { search, read, closed } = searching()
  const found = await search({ userId: 'u1', sourceId: 'shop' })
  expect([...read.events]).toEqual([partitionOf(Buffer.from('shop/u1'), PARTITIONS)])
  expect(read.rejected.size).toBe(PARTITIONS)
  expect(found?.items.filter((item) => 'event' in item)).toHaveLength(1)
  expect(closed()).toBe(1)
})

test('for a user of any source, all partitions are read', async () => {
  const { search, read } = searching()
  await search({ userId: 'u1' })
  expect(read.events.size).toBe(PARTITIONS)
})

test('of a rejected call, no more is kept than the answer shows, however large it is', async () => {
  const raw = JSON.stringify({
    userId: `u1${'-'.repeat(200_000)}`,
    anonymousId: 'a1',
    x: '中'.repeat(100_000),
  })
  const { search } = searching([{}], {
    rejected: {
      codec: { decode },
      reader: {
        partitions: 1,
        async read(_, onValue) {
          const rejected = { sourceId: 'shop', code: 'c', message: 'm', raw, receivedAt: 0, truncated: false }
          onValue(encode(rejected), 0, { key: Buffer.from('shop'), timestamp: 1 })
        },
      },
    },
  })
  const found = await search({ anonymousId: 'a1' })
  const [item] = found?.items.filter((each) => 'rejected' in each) ?? []
  expect(item).toMatchObject({ fields: { anonymousId: 'a1' } })
  expect(JSON.stringify(item).length).toBeLessThan(10_000)
})

test('for a delivery id, no rejected calls are read', async () => {
  const { search, read } = searching()
  await search({ deliveryId: 'd1' })
  expect([read.events.size, read.rejected.size]).toEqual([PARTITIONS, 0])
})

test('calls of other sources and undecodable records are left out', async () => {
  const { search } = searching([{ sourceId: 'app' }, {}], {})
  const found = await search({ sourceId: 'shop', limit: 100 })
  const events = found?.items.flatMap((item) => ('event' in item ? item.event.sourceId : [])) ?? []
  expect(new Set(events)).toEqual(new Set(['shop']))
  const broken = searching([{}], {
    rejected: { codec: { decode }, reader: { partitions: 1, read: async () => {} } },
    events: {
      codec: { decode: () => ({ ok: false, reason: 'undecodable', message: '' }) },
      reader: {
        partitions: 1,
        read: async (_, onValue) => void onValue(Buffer.from('x'), 0, { key: null, timestamp: 1 }),
      },
    },
  })
  expect((await broken.search({}))?.items).toEqual([])
})

test('at most four searches run at once, and a failed one frees its place', async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  const { search } = searching([], { searching: createSearching(() => promise) })
  const under = Array.from({ length: 4 }, () => search({}))
  expect(search({})).toBeUndefined()
  reject(new Error('no broker'))
  const ended = await Promise.allSettled(under.map((each) => each ?? Promise.reject(new Error('none'))))
  expect(ended.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await expect(search({})).rejects.toThrow('no broker')
})
