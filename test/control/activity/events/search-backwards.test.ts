import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Part, type Search, searchBack } from '../../../../control/activity/events/search-backwards.ts'
import { cursorShape } from '../../../../control/activity/records/recent-records.ts'

type Row = { timestamp: number; is: string }
/** By topic and partition. */
type Topics = readonly (readonly (readonly Row[])[])[]

/** As in Kafka: the first one at or after this time, otherwise the end. */
const offsetAt = (rows: readonly Row[], time: number) => {
  const offset = rows.findIndex(({ timestamp }) => timestamp >= time)
  return offset < 0 ? rows.length : offset
}

/** @param low of each partition */
function searchOf(topics: Topics, low = 0) {
  const lowOf = (rows: readonly Row[]) => Math.min(low, rows.length)
  const rowsOf = (topic: string) => topics[Number(topic)] ?? []
  const reads: number[] = []
  /** Of each record that was read, in their order. */
  const sizes: number[] = []
  const offsets: Search<string>['offsets'] = {
    bounds: async (topic) =>
      rowsOf(topic).map((rows, partition) => ({ partition, low: lowOf(rows), end: rows.length })),
    at: async (topic, time) => {
      if (time < 0) throw new Error('no time')
      return rowsOf(topic).map((rows, partition) => ({
        partition,
        offset: lowOf(rows) + offsetAt(rows.slice(lowOf(rows)), time),
      }))
    },
  }
  const parts = topics.map(
    (partitions, index): Part<string> => ({
      topic: String(index),
      isSearched: () => true,
      async read({ partition, from, to }, onValue) {
        reads.push(to - from)
        for (const [at, { timestamp, is }] of (partitions[partition] ?? []).slice(from, to).entries()) {
          sizes.push(is.length)
          if (onValue(Buffer.from(is), from + at, { key: null, timestamp }) === 'enough') return
        }
      },
      find: (value) => (value?.length ? String(value) : undefined),
    }),
  )
  const search = (asked: Partial<Search<string>>) =>
    searchBack({
      parts,
      offsets,
      limit: 10,
      now: 1_000_000,
      step: 100,
      stepBytes: 1_000_000,
      most: 1_000,
      isOver: () => false,
      semaphore: (work) => work(),
      ...asked,
    })
  return { search, reads, sizes }
}

async function allPages(search: ReturnType<typeof searchOf>['search'], asked: Partial<Search<string>>) {
  const items: string[] = []
  for (let next: string | null = null, pages = 0; pages < 1_000; pages++) {
    const cursor = next === null ? undefined : cursorShape.parse(next)
    const page = await search({ ...asked, cursor })
    items.push(...page.items)
    next = page.next
    if (next === null) return { items, searchedSince: page.searchedSince }
  }
  throw new Error('the pages have no end')
}

/** Those with an empty value never match. */
const rows = fc
  .array(fc.record({ timestamp: fc.integer({ min: 0, max: 1_100_000 }), matchesEvent: fc.boolean() }), {
    maxLength: 40,
  })
  .map((all) =>
    all.map(({ timestamp, matchesEvent }, at) => ({ timestamp, is: matchesEvent ? `${at}` : '' })),
  )
const named = (topics: { timestamp: number; is: string }[][][]): Topics =>
  topics.map((partitions, topic) =>
    partitions.map((all, partition) =>
      all.map(({ timestamp, is }) => ({ timestamp, is: is && `${topic}/${partition}/${is}` })),
    ),
  )
const topics = fc.tuple(fc.array(rows, { maxLength: 3 }), fc.array(rows, { maxLength: 2 })).map(named)

test('whatever the writers’ clocks, every match is found once, in pages of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      topics,
      fc.record({
        limit: fc.integer({ min: 1, max: 7 }),
        step: fc.integer({ min: 1, max: 30 }),
        stepBytes: fc.integer({ min: 1, max: 300 }),
        most: fc.integer({ min: 1, max: 60 }),
      }),
      fc.integer({ min: 0, max: 5 }),
      async (given, asked, low) => {
        const { items, searchedSince } = await allPages(searchOf(given, low).search, asked)
        const wanted = given.flatMap((partitions) => partitions.flatMap((all) => all.slice(low)))
        expect(items.toSorted()).toEqual(wanted.flatMap(({ is }) => is || []).toSorted())
        expect(searchedSince).toBeNull()
      },
    ),
  )
})

test('matches that need a second look are found once, however often the time runs out', async () => {
  await fc.assert(
    fc.asyncProperty(
      topics,
      fc.record({
        limit: fc.integer({ min: 1, max: 7 }),
        step: fc.integer({ min: 1, max: 60 }),
        stepBytes: fc.integer({ min: 1, max: 300 }),
      }),
      fc.boolean(),
      async (given, asked, isOver) => {
        const isEven = (is: string) => Number(is.split('/')[2]) % 2 === 0
        const select = async (all: readonly string[]) => new Set(all.filter(isEven))
        const { items } = await allPages(searchOf(given).search, { ...asked, select, isOver: () => isOver })
        const matches = given.flat(2).flatMap(({ is }) => is || [])
        expect(items.toSorted()).toEqual(matches.filter(isEven).toSorted())
      },
    ),
  )
})

test('a second look at many matches stops when the time runs out, and continues there', async () => {
  const rows = Array.from({ length: 6_800 }, (_, at) => ({ timestamp: 990_000 + at, is: `0/0/${at}` }))
  const looks: number[] = []
  const select = async (all: readonly string[]) => {
    looks.push(all.length)
    return new Set(all.slice(0, 1))
  }
  const asked = { limit: 10, step: 10_000, most: 20_000, isOver: () => true, select }
  const { items } = await allPages(searchOf([[rows]]).search, asked)
  expect(looks).toEqual([2_000, 2_000, 2_000, 800])
  expect(items).toEqual(['0/0/6799', '0/0/4799', '0/0/2799', '0/0/799'])
})

test('matches come newest first if clocks agree', async () => {
  await fc.assert(
    fc.asyncProperty(topics, fc.integer({ min: 1, max: 7 }), async (given, limit) => {
      const sorted = given.map((partitions) =>
        partitions.map((all) => all.toSorted((a, b) => a.timestamp - b.timestamp)),
      )
      const { items } = await allPages(searchOf(sorted).search, { limit, step: 20 })
      const times = new Map(sorted.flat(2).map(({ is, timestamp }) => [is, timestamp]))
      const found = items.map((is) => times.get(is) ?? 0)
      expect(found).toEqual(found.toSorted((a, b) => b - a))
    }),
  )
})

const second = (at: number, is: string): Row => ({ timestamp: at * 1_000, is })

describe('a search', () => {
  const given: Topics = [
    [[second(1, 'a'), second(500, 'b'), second(990, 'c')], [second(980, 'd')]],
    [[second(985, 'e')]],
  ]

  test('of a time range finds the matches in it, and says that it is complete', async () => {
    const { search } = searchOf(given)
    expect(await search({ since: 400_000, until: 985_000 })).toEqual({
      items: ['d', 'b'],
      next: null,
      searchedSince: 400_000,
    })
  })

  test('that fills a page says since when it is complete, and continues after the page', async () => {
    const { search } = searchOf(given)
    const first = await search({ limit: 2 })
    expect(first).toMatchObject({ items: ['c', 'e'], searchedSince: 985_000 })
    expect(await search({ limit: 2, cursor: cursorShape.parse(first.next) })).toMatchObject({
      items: ['d', 'b'],
    })
  })

  test('that has read its limit says how far it got', async () => {
    const { search } = searchOf(given)
    const { items, next, searchedSince } = await search({ most: 1 })
    expect(items).toEqual(['c'])
    expect(next).toBe(`${searchedSince}.0.0`)
    expect(searchedSince).toBe(990_000)
  })

  test('that runs out of time ends with the matches so far', async () => {
    const { search } = searchOf(given)
    expect(await search({ isOver: () => true })).toMatchObject({ items: ['c'], next: expect.any(String) })
  })

  test('reads at most one step at once, if record times allow it', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => second(at, `${at}`))
    const { search, reads } = searchOf([[many]])
    const { items } = await search({ step: 50, limit: 100 })
    expect(items[0]).toBe('999')
    expect(Math.max(...reads)).toBeLessThanOrEqual(50)
  })

  test('of large records reads few of them at once, and checks its time in between', async () => {
    const large = Array.from({ length: 1_000 }, (_, at) => second(990 + at / 100, `${at}`.padEnd(1_000, '.')))
    const { search, sizes } = searchOf([[large]])
    const { items, next } = await search({ step: 1_000, stepBytes: 20_000, limit: 100, isOver: () => true })
    expect(items[0]).toMatch(/^999\.+$/)
    expect(next).not.toBeNull()
    expect(sizes.length).toBeLessThan(100)
  })

  test('reads large records of one millisecond together, because time cannot divide them', async () => {
    const large = Array.from({ length: 50 }, (_, at) => ({
      timestamp: 990_000,
      is: `${at}`.padEnd(1_000, '.'),
    }))
    const { items } = await searchOf([[large]]).search({ stepBytes: 20_000, limit: 100 })
    expect(items).toHaveLength(50)
  })

  test('of a time before 1970 finds nothing, because negative times are special to Kafka', async () => {
    const { search, reads } = searchOf(given)
    const nothing = { items: [], next: null }
    expect(await search({ until: -5 })).toMatchObject(nothing)
    expect(await search({ until: 0 })).toMatchObject(nothing)
    expect(await search({ cursor: cursorShape.parse('-99.0.0') })).toMatchObject(nothing)
    expect(reads).toEqual([])
    expect((await search({ since: -5 })).items).toHaveLength(5)
  })

  test('reads nothing of excluded partitions', async () => {
    const { search, reads } = searchOf(given)
    const parts: Search<string>['parts'] = [
      { topic: '0', isSearched: () => false, read: async () => {}, find: () => 'never' },
    ]
    expect(await search({ parts })).toEqual({ items: [], next: null, searchedSince: null })
    expect(reads).toEqual([])
  })
})
