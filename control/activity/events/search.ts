import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { createLimit, createSemaphore } from '../../api/concurrency.ts'
import { RAW_NEEDED } from '../records/call-json.ts'
import { beginningOf, sourceOf } from '../records/subject.ts'
import {
  type EventsQuery,
  type Fields,
  fieldsIn,
  matchesEvent,
  matchesRejected,
  mayMatch,
} from './matches.ts'
import { type Part, type Search, type Searched, searchBack } from './search-backwards.ts'

/** `raw` is cut off: it may have 900 KB, and a page shows a hundred calls. `fields` is read from the whole. */
export type FoundCall = { event: Event } | { rejected: Rejected; fields: Fields }

export const foundRejected = (rejected: Rejected): FoundCall => ({
  rejected: { ...rejected, raw: beginningOf(rejected.raw, RAW_NEEDED) },
  fields: fieldsIn(rejected.raw),
})

export type EventSearch = {
  /**
   * Newest first. Returns undefined or rejects like `Searching`.
   * @param destinationsOf those that may have a delivery from this source.
   */
  search(
    query: EventsQuery,
    destinationsOf: (sourceId: string) => readonly string[],
  ): Promise<Searched<FoundCall>> | undefined
}

export type SearchParts = {
  searching: Searching
  events: { reader: Pick<Reader, 'read' | 'partitions'>; codec: Pick<Codec<Event>, 'decode'> }
  rejected: { reader: Pick<Reader, 'read' | 'partitions'>; codec: Pick<Codec<Rejected>, 'decode'> }
}

export type Asked<T> = Pick<Search<T>, 'parts' | 'limit' | 'cursor' | 'since' | 'until' | 'select'> & {
  /** Few records match. The others are not decoded, so it may read more. */
  isNarrow: boolean
}

/** Undefined: too many searches are in progress. Rejects if Kafka does not answer. */
export type Searching = <T>(asked: Asked<T>) => Promise<Searched<T>> | undefined

const MAX_AT_ONCE = 4
/** For one request; a record takes some microseconds. */
const MAX_RECORDS = 200_000
const MAX_MS = 3_000
/** Records to read at once: few, if most must be decoded. */
const STEP = 10_000
const FEW = 500
/** For records that are larger than usual. Without it, a step of rejected batches could take 5 GB. */
const STEP_BYTES = 32 * 1024 * 1024

export function createSearching(open: () => Promise<Pick<Offsets, 'bounds' | 'at' | 'close'>>): Searching {
  const semaphore = createSemaphore(1)
  const limit = createLimit(MAX_AT_ONCE)

  async function searchNow<T>({ isNarrow, ...asked }: Asked<T>) {
    const begun = performance.now()
    const offsets = await open()
    try {
      return await searchBack({
        ...asked,
        offsets,
        now: Date.now(),
        step: isNarrow ? STEP : FEW,
        stepBytes: STEP_BYTES,
        most: MAX_RECORDS,
        isOver: () => performance.now() - begun > MAX_MS,
        semaphore,
      })
    } finally {
      await offsets.close()
    }
  }

  return (asked) => limit(() => searchNow(asked))
}

export function createEventSearch(parts: SearchParts): EventSearch {
  return {
    search: (query, destinationsOf) =>
      parts.searching({
        parts: [eventsPart(query, parts, destinationsOf), rejectedPart(query, parts)],
        limit: query.limit,
        cursor: query.cursor,
        since: query.since,
        until: query.until,
        isNarrow: isNarrow(query),
      }),
  }
}

/** Other searches decode every record and may hash it. */
const isNarrow = ({ messageId, userId, anonymousId, event }: EventsQuery) =>
  [messageId, userId, anonymousId, event].some((each) => each !== undefined)

function eventsPart(
  query: EventsQuery,
  { events: { reader, codec } }: SearchParts,
  destinationsOf: (sourceId: string) => readonly string[],
): Part<FoundCall> {
  const { sourceId, userId } = query
  const mayBeMatch = mayMatch(query)
  const isMatch = matchesEvent(query, destinationsOf)
  // the key that eventRecord uses
  const only =
    sourceId === undefined || userId === undefined
      ? undefined
      : partitionOf(Buffer.from(`${sourceId}/${userId}`), reader.partitions)
  return {
    topic: EVENTS,
    isSearched: (partition) => only === undefined || partition === only,
    read: reader.read,
    find(value, key) {
      if (!value || (sourceId !== undefined && key && sourceOf(key) !== sourceId)) return undefined
      if (!mayBeMatch(value)) return undefined
      return decoded(codec, value, (event) => (isMatch(event) ? { event } : undefined))
    },
  }
}

function rejectedPart(query: EventsQuery, { rejected: { reader, codec } }: SearchParts): Part<FoundCall> {
  const { sourceId, deliveryId } = query
  const mayBeMatch = mayMatch(query)
  const isMatch = matchesRejected(query)
  return {
    topic: REJECTED,
    // rejected calls have no deliveries
    isSearched: () => deliveryId === undefined,
    read: reader.read,
    find(value, key) {
      if (!value || (sourceId !== undefined && key && sourceOf(key) !== sourceId)) return undefined
      if (!mayBeMatch(value)) return undefined
      return decoded(codec, value, (rejected) => (isMatch(rejected) ? foundRejected(rejected) : undefined))
    },
  }
}

export function decoded<T, F>(
  codec: Pick<Codec<T>, 'decode'>,
  value: Buffer,
  take: (value: T) => F | undefined,
): F | undefined | Promise<F | undefined> {
  // at once: later the fetch's buffer may be gone
  const decoding = codec.decode(value)
  if (decoding instanceof Promise) return decoding.then((found) => (found.ok ? take(found.value) : undefined))
  return decoding.ok ? take(decoding.value) : undefined
}
