import type { Offsets } from '../../../kafka/admin/offsets.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Semaphore } from '../../api/concurrency.ts'
import { compare, cursorOf, type RecordPosition } from '../records/recent-records.ts'

export type Part<T> = {
  topic: string
  isSearched(partition: number): boolean
  read: Reader['read']
  /** Must not keep `value` or `key`. */
  find(value: Buffer | null, key: Buffer | null, at: RecordMetadata): Found<T>
}

/** `timestamp`: ms since 1970. */
export type RecordMetadata = PartitionOffset & { timestamp: number }

type Found<T> = T | undefined | Promise<T | undefined>

export type Search<T> = {
  /** In a fixed order: cursors depend on it. */
  parts: readonly Part<T>[]
  offsets: Pick<Offsets, 'bounds' | 'at'>
  limit: number
  cursor?: RecordPosition | undefined
  since?: number | undefined
  until?: number | undefined
  now: number
  /** Records to read at once, roughly. Fewer if they have more than `stepBytes`. */
  step: number
  stepBytes: number
  /** Records to read in total, roughly. */
  most: number
  isOver(): boolean
  /** Serializes the reads of all searches: a reader reads one range of a partition at a time. */
  semaphore: Semaphore
  /** Filters by facts that are not in the record. Gets batches, newest first. */
  select?: ((matches: readonly T[]) => Promise<ReadonlySet<T>>) | undefined
}

/** `searchedSince`: everything received since then was searched (ms since 1970); null: everything. */
export type Searched<T> = { items: T[]; next: string | null; searchedSince: number | null }

/** Still to search: from `low` to before `to`. */
type Spot = { index: number; partition: number; low: number; to: number }
/** `isNarrowest`: times cannot divide it further. */
type Window = { from: number; spots: (Spot & { from: number })[]; records: number; isNarrowest: boolean }
type Item<T> = RecordPosition & { found: T }

const FIRST_MS = 10_000
const WIDER = 4

/**
 * Reads topics backwards in time windows, using Kafka's index of offsets by time. A record counts with the latest
 * time up to it in its partition: for that time the index is exact, whatever the writers' clocks say.
 */
export async function searchBack<T>(search: Search<T>): Promise<Searched<T>> {
  const { limit, cursor, since = 0, until, now, most, isOver } = search
  const end = cursor ? timeBehind(cursor) : until
  // Kafka gives negative times a special meaning
  const top = end === undefined ? undefined : Math.max(0, end)
  let spots = await spotsBefore(search, top)
  let to = top ?? now
  let widthMs = FIRST_MS
  let records = 0
  let { step } = search
  const items: Item<T>[] = []
  for (;;) {
    const window = await windowBefore({ spots, to, widthMs, since }, { ...search, step })
    const read = await readWindow(window, { ...search, limit: limit - items.length })
    if ('tooLarge' in read) {
      step = Math.max(1, read.tooLarge >>> 1)
      continue
    }
    const { found, stoppedAt } = read
    items.push(...found)
    const last = items[limit - 1]
    if (items.length > limit && last)
      return { items: items.slice(0, limit).map(foundIn), next: cursorOf(last), searchedSince: last.time }
    if (stoppedAt)
      return { items: items.map(foundIn), next: cursorOf(stoppedAt), searchedSince: stoppedAt.time }
    records += window.records
    spots = window.spots.map((spot) => ({ ...spot, to: spot.from }))
    if (spots.every(({ low, to }) => to <= low))
      return { items: items.map(foundIn), next: null, searchedSince: search.since ?? null }
    if (window.from <= since) return { items: items.map(foundIn), next: null, searchedSince: since }
    if (records >= most || isOver())
      return { items: items.map(foundIn), next: cursorOf(before(window.from)), searchedSince: window.from }
    widthMs = (to - window.from) * (window.records < step / WIDER ? WIDER : 1)
    to = window.from
    step = Math.min(search.step, step * 2)
  }
}

const foundIn = <T>({ found }: Item<T>): T => found

/** Sorts before every record of this time. */
const before = (time: number): RecordPosition => ({ time, partition: 0, offset: 0 })

const timeBehind = ({ time, partition, offset }: RecordPosition) =>
  partition === 0 && offset === 0 ? time : time + 1

async function spotsBefore<T>({ parts, offsets }: Search<T>, top: number | undefined): Promise<Spot[]> {
  const found = await Promise.all(
    parts.map(async ({ topic, isSearched }, index) => {
      const [bounds, tops] = await Promise.all([
        offsets.bounds(topic),
        top === undefined ? undefined : offsets.at(topic, top),
      ])
      const toOf = new Map(tops ? tops.map(({ partition, offset }) => [partition, offset]) : [])
      return bounds
        .filter(({ partition }) => isSearched(partition))
        .map(({ partition, low, end }) => ({ index, partition, low, to: toOf.get(partition) ?? end }))
    }),
  )
  return found.flat()
}

/** The widest window with about `step` records at most, but at least 1 ms. */
async function windowBefore<T>(
  { spots, to, widthMs, since }: { spots: readonly Spot[]; to: number; widthMs: number; since: number },
  { parts, offsets, step }: Search<T>,
): Promise<Window> {
  for (let width = Math.max(1, widthMs); ; ) {
    const from = Math.max(since, to - width, 0)
    const at = await Promise.all(
      parts.map(async ({ topic }, index) =>
        spots.some((spot) => spot.index === index) ? offsets.at(topic, from) : [],
      ),
    )
    const begun = spots.map((spot) => {
      const { offset = spot.low } =
        at[spot.index]?.find(({ partition }) => partition === spot.partition) ?? {}
      return { ...spot, from: Math.min(spot.to, Math.max(spot.low, offset)) }
    })
    const records = begun.reduce((sum, spot) => sum + spot.to - spot.from, 0)
    if (records <= step || width <= 1)
      return { from, spots: begun, records, isNarrowest: records <= 1 || to - from <= 1 }
    width = Math.max(1, Math.floor((width * step) / (2 * records)))
  }
}

/** `stoppedAt`: the time was up, so older matches were not filtered. */
type Read<T> = { found: Item<T>[]; stoppedAt?: RecordPosition }

/**
 * @returns newest first, at most one more than the limit; or how many of its records exceed `stepBytes`, to read it in
 * smaller windows.
 */
async function readWindow<T>(
  { spots, isNarrowest }: Window,
  search: Search<T>,
): Promise<Read<T> | { tooLarge: number }> {
  const { parts, cursor, semaphore } = search
  const mostBytes = isNarrowest ? Number.POSITIVE_INFINITY : search.stepBytes
  const found: (RecordPosition & { found: Found<T> })[] = []
  let [records, bytes] = [0, 0]

  async function readOne({ index, partition, from, to }: Window['spots'][number]): Promise<void> {
    const part = parts[index]
    if (!part || from >= to) return
    let time = Number.NEGATIVE_INFINITY
    await part.read({ partition, from, to }, (value, offset, { key, timestamp }) => {
      if (bytes > mostBytes) return 'enough'
      records += 1
      bytes += value?.length ?? 0
      if (bytes > mostBytes) {
        found.length = 0
        return 'enough'
      }
      time = Math.max(time, timestamp)
      const place = { time, partition: partition * parts.length + index, offset }
      if (cursor && compare(place, cursor) >= 0) return undefined
      const match = part.find(value, key, { partition, offset, timestamp })
      if (match !== undefined) found.push({ ...place, found: match })
      return undefined
    })
  }

  await semaphore(() => Promise.all(spots.map(readOne)))
  if (bytes > mostBytes) return { tooLarge: records }
  return selectFrom(
    found.toSorted((a, b) => compare(b, a)),
    search,
  )
}

/** Many matches per `select`, because one read may serve them all. */
const BATCH = 2_000

async function selectFrom<T>(
  sorted: readonly (RecordPosition & { found: Found<T> })[],
  { limit, isOver, select }: Pick<Search<T>, 'limit' | 'isOver' | 'select'>,
): Promise<Read<T>> {
  const selected: Item<T>[] = []
  const size = select ? BATCH : limit + 1
  for (let start = 0; start < sorted.length; start += size) {
    const batch: Item<T>[] = []
    for (const { found, ...place } of sorted.slice(start, start + size)) {
      const value = await found
      if (value !== undefined) batch.push({ ...place, found: value })
    }
    const kept = select && (await select(batch.map(foundIn)))
    selected.push(...batch.filter(({ found }) => kept?.has(found) ?? true))
    if (selected.length > limit) break
    const last = sorted[start + size - 1]
    if (select && last && start + size < sorted.length && isOver())
      return { found: selected, stoppedAt: last }
  }
  return { found: selected.slice(0, limit + 1) }
}
