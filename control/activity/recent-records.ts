import { z } from 'zod'
import { begunLate, type Tail } from '../../kafka/tables/tail.ts'
import type { Codec } from '../../schemas/codec.ts'
import { patiently } from '../api/concurrency.ts'
import { type Page, pageShape, problem } from '../api/response.ts'

/** The newest of what passes by, in bounded memory. */
export type Newest<T extends Place> = {
  /** In any order: what is read from several partitions comes in none. */
  add(item: T): void
  /** Oldest first. */
  all(): readonly T[]
  /** Newest first, from behind the cursor. What comes or drops out between two pages moves nothing else. */
  page(asked: { limit: number; cursor?: Place | undefined; isWanted?: (item: T) => boolean }): Page<T>
  /** These partitions were begun in the middle: what is older than the first of each was never added. */
  begunLate(partitions: ReadonlySet<number>): void
  /** Since when all are held, in ms since 1970; null: nothing is. */
  oldest(): number | null
}

export type NewestOptions<T> = {
  most: number
  mostBytes?: number
  /** About how much memory it takes; always the same of one item. */
  bytesOf?: (item: T) => number
  onDropped?: (item: T) => void
}

/** As many more may wait to be sorted in: sorting by the thousand costs next to nothing. */
const WAITING = 0.1

export function createNewest<T extends Place>(options: NewestOptions<T>): Newest<T> {
  const { most, mostBytes = Number.POSITIVE_INFINITY, bytesOf = () => 0, onDropped } = options
  let held: T[] = []
  let added: T[] = []
  let [heldBytes, addedBytes] = [0, 0]
  let allSince = Number.NEGATIVE_INFINITY

  function sortIn(): T[] {
    if (added.length === 0) return held
    // two runs, each in order: one pass merges them
    held = held.concat(added.sort(compare)).sort(compare)
    heldBytes += addedBytes
    added = []
    addedBytes = 0
    dropOldest()
    return held
  }

  function dropOldest(): void {
    let dropped = 0
    for (const item of held) {
      if (held.length - dropped <= most && heldBytes <= mostBytes) break
      heldBytes -= bytesOf(item)
      dropped += 1
      onDropped?.(item)
    }
    if (dropped > 0) held = held.slice(dropped)
  }

  return {
    add(item) {
      added.push(item)
      addedBytes += bytesOf(item)
      if (added.length >= most * WAITING || addedBytes >= mostBytes * WAITING) sortIn()
    },

    all: sortIn,

    page({ limit, cursor, isWanted = () => true }) {
      const sorted = sortIn()
      const items: T[] = []
      for (let index = (cursor ? countBefore(cursor, sorted) : sorted.length) - 1; index >= 0; index--) {
        const item = sorted[index]
        if (!item || !isWanted(item)) continue
        const last = items.at(-1)
        if (items.length === limit && last) return { items, next: cursorOf(last) }
        items.push(item)
      }
      return { items, next: null }
    },

    begunLate(partitions) {
      const left = new Set(partitions)
      for (const { time, partition } of sortIn())
        if (left.delete(partition)) allSince = Math.max(allSince, time)
    },

    oldest() {
      const [first] = sortIn()
      return first ? Math.max(allSince, first.time) : null
    },
  }
}

function countBefore(place: Place, sorted: readonly Place[]): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(sorted[middle] ?? place, place) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** What is read from a topic before anything can be said of it. `loaded` never rejects. */
export type Loading = { loaded: Promise<void>; isLoaded(): boolean }

/** What is read as it comes. `isFresh`: Kafka has answered of late; else nobody knows what came since. */
export type Followed = Loading & { isFresh(): boolean }

/** When Kafka has not answered for so long, nothing is told any more. */
export const STALE_MS = 30_000

/** @returns how far the reading of a tail into `newest` is; `newest` is told what there was before. */
export function followed(tail: Tail, newest: Pick<Newest<Place>, 'begunLate'>): Followed {
  let isLoaded = false
  const loaded = tail.caughtUp.then(() => {
    newest.begunLate(begunLate(tail))
    isLoaded = true
  })
  const isFresh = () => performance.now() - tail.fetchedAt() < STALE_MS
  return { loaded, isLoaded: () => isLoaded, isFresh }
}

/** Half of what is there would be taken for all of it. */
export const loading = problem(
  { code: 'unavailable', message: 'This process still reads what there is: try again in a moment' },
  { 'retry-after': '1' },
)

/** For what only reads: nothing was changed, so it can be asked again at once. */
export const unreachable = problem(
  { code: 'unavailable', message: 'Kafka does not answer: try again in a moment' },
  { 'retry-after': '5' },
)

/** @returns whether it is loaded, after a wait if need be. */
export async function isLoadedSoon({ loaded, isLoaded }: Loading, patienceMs?: number): Promise<boolean> {
  if (!isLoaded()) await patiently(loaded, patienceMs).catch(() => undefined)
  return isLoaded()
}

/** Where something stands among others: by its time (ms since 1970), where that is the same by its place in its topic. */
export type Place = { time: number; partition: number; offset: number }

/** @returns below 0 when `a` is the older one. */
export function compare(a: Place, b: Place): number {
  return a.time - b.time || a.partition - b.partition || a.offset - b.offset
}

/** The same in every process, also after a restart. */
export const cursorOf = ({ time, partition, offset }: Place) => `${time}.${partition}.${offset}`

/** `next` of the page before. */
export const cursorShape = z
  .string()
  .regex(/^-?\d{1,15}\.\d{1,9}\.\d{1,15}$/, 'give the next of the page before')
  .transform((text): Place => {
    const [time = 0, partition = 0, offset = 0] = text.split('.').map(Number)
    return { time, partition, offset }
  })

const time = z.iso
  .datetime({ offset: true, error: 'give a time in ISO 8601, like 2026-01-02T03:04:05.678Z' })
  .transform((text) => Date.parse(text))

/** What is asked of the newest: a page of them, and from when to when (ms since 1970; `until` is not included). */
export const rangeFields = {
  limit: pageShape.shape.limit,
  cursor: cursorShape.optional().describe('`next` of the page before.'),
  since: time.optional().describe('The first time that is included.'),
  until: time.optional().describe('This time is not included.'),
}

/** Of deliveries and calls. */
export const idField = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'at most 256 characters')
  .describe('Compared as it is.')

export function isWithin(
  { time }: Pick<Place, 'time'>,
  {
    since = Number.NEGATIVE_INFINITY,
    until = Number.POSITIVE_INFINITY,
  }: { since?: number | undefined; until?: number | undefined },
): boolean {
  return time >= since && time < until
}

/** Why a record is passed over. */
export const UNREADABLE = ['undecodable', 'unknown_schema', 'registry_unreachable'] as const
export type Unreadable = (typeof UNREADABLE)[number]

/** Hands over what a record's value says: at once, or when the registry has told its schema. */
export type Decode<T> = (value: Buffer | null, onValue: (value: T) => void) => void

/** Each holds its fetch until the registry has answered. */
const MOST_WAITING = 1_000

/** For those who only look on: what cannot be read is passed over, and stops nobody. */
export function decodeOrPass<T>(
  codec: Pick<Codec<T>, 'decode'>,
  onUnreadable: (reason: Unreadable) => void,
): Decode<T> {
  let waiting = 0
  return (value, onValue) => {
    if (waiting >= MOST_WAITING) return onUnreadable('registry_unreachable')
    const decoding = codec.decode(value)
    if (!(decoding instanceof Promise)) return take(decoding)
    waiting += 1
    void decoding.then(take).finally(() => {
      waiting -= 1
    })

    function take(decoded: Awaited<typeof decoding>): void {
      if (decoded.ok) onValue(decoded.value)
      else onUnreadable(decoded.reason)
    }
  }
}
