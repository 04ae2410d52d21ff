import type { Offsets } from '../../../kafka/admin/offsets.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Semaphore } from '../../api/concurrency.ts'
import { compare, cursorOf, type Place } from '../recent-records.ts'

/** A topic to be searched: all of it, or these partitions of it. */
export type Part<T> = {
  topic: string
  isSearched(partition: number): boolean
  read: Reader['read']
  /** What is looked for and found in a record; undefined: nothing. Must not keep value or key. */
  find(value: Buffer | null, key: Buffer | null): Found<T>
}

type Found<T> = T | undefined | Promise<T | undefined>

export type Search<T> = {
  /** Always in this order: places say which it is. */
  parts: readonly Part<T>[]
  offsets: Pick<Offsets, 'bounds' | 'at'>
  limit: number
  cursor?: Place | undefined
  /** ms since 1970. */
  since?: number | undefined
  until?: number | undefined
  now: number
  /** Records that are read at once, about. */
  step: number
  /** Records that are read in all, about. */
  most: number
  /** Asked behind each step. */
  isOver(): boolean
  /** Ranges of one partition are read one at a time: others may search as well. */
  semaphore: Semaphore
}

/** `searchedSince`: ms since 1970; all that came from then on was searched. Null: all that there is. */
export type Searched<T> = { items: T[]; next: string | null; searchedSince: number | null }

/** Where in a partition is searched: what lies from `low` to before `to`. */
type Spot = { index: number; partition: number; low: number; to: number }
type Window = { from: number; spots: (Spot & { from: number })[]; records: number }
type Item<T> = Place & { found: T }

const FIRST_MS = 10_000
const WIDER = 4

/**
 * Reads topics from their end backwards, newest first, a window of time at a time: Kafka knows the offsets of a time. A record's
 * time is the latest up to it in its partition, for which the offset of a time is exact, whatever the clocks that wrote.
 */
export async function searchBack<T>(search: Search<T>): Promise<Searched<T>> {
  const { limit, cursor, since = 0, until, now, most, isOver } = search
  const asked = cursor ? timeBehind(cursor) : until
  // below zero a time means something else to Kafka
  const top = asked === undefined ? undefined : Math.max(0, asked)
  let spots = await spotsBefore(search, top)
  let to = top ?? now
  let widthMs = FIRST_MS
  let records = 0
  const items: Item<T>[] = []
  for (;;) {
    const window = await windowBefore({ spots, to, widthMs, since }, search)
    items.push(...(await readWindow(window, search)))
    const last = items[limit - 1]
    if (items.length > limit && last)
      return { items: items.slice(0, limit).map(foundIn), next: cursorOf(last), searchedSince: last.time }
    records += window.records
    spots = window.spots.map((spot) => ({ ...spot, to: spot.from }))
    if (spots.every(({ low, to }) => to <= low))
      return { items: items.map(foundIn), next: null, searchedSince: search.since ?? null }
    if (window.from <= since) return { items: items.map(foundIn), next: null, searchedSince: since }
    if (records >= most || isOver())
      return { items: items.map(foundIn), next: cursorOf(before(window.from)), searchedSince: window.from }
    widthMs = (to - window.from) * (window.records < search.step / WIDER ? WIDER : 1)
    to = window.from
  }
}

const foundIn = <T>({ found }: Item<T>): T => found

/** What is older than this time, and nothing of it: no place of that time is before this one. */
const before = (time: number): Place => ({ time, partition: 0, offset: 0 })

const timeBehind = ({ time, partition, offset }: Place) => (partition === 0 && offset === 0 ? time : time + 1)

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

/** As wide as it may be with no more records than are to be read at once; never narrower than a millisecond. */
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
    if (records <= step || width <= 1) return { from, spots: begun, records }
    width = Math.max(1, Math.floor((width * step) / (2 * records)))
  }
}

/** @returns newest first, one more than are wanted at most. */
async function readWindow<T>({ spots }: Window, search: Search<T>): Promise<Item<T>[]> {
  const { parts, limit, cursor, semaphore } = search
  const found: (Place & { found: Found<T> })[] = []

  async function readOne({ index, partition, from, to }: Window['spots'][number]): Promise<void> {
    const part = parts[index]
    if (!part || from >= to) return
    let time = Number.NEGATIVE_INFINITY
    await part.read({ partition, from, to }, (value, offset, { key, timestamp }) => {
      time = Math.max(time, timestamp)
      const place = { time, partition: partition * parts.length + index, offset }
      if (cursor && compare(place, cursor) >= 0) return
      const one = part.find(value, key)
      if (one !== undefined) found.push({ ...place, found: one })
    })
  }

  await semaphore(() => Promise.all(spots.map(readOne)))
  const items: Item<T>[] = []
  for (const { found: one, ...place } of found.toSorted((a, b) => compare(b, a))) {
    const value = await one
    if (value !== undefined) items.push({ ...place, found: value })
    if (items.length > limit) break
  }
  return items
}
