import type { Ladder } from '../../../delivery/ladder.ts'
import { type Offsets, openOffsets } from '../../../kafka/admin/offsets.ts'
import type { Connection } from '../../../kafka/client.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import { openReader, type Reader } from '../../../kafka/tables/reader.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { ATTEMPTS, EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { createSemaphore } from '../../api/concurrency.ts'
import { sourceOf } from '../live/recent-calls.ts'
import { type EventsQuery, matchesEvent, matchesRejected, mayMatch } from './matches.ts'
import { type Part, type Searched, searchBack } from './search-backwards.ts'
import { createTrace, type Trace } from './trace.ts'

export type FoundCall = { event: Event } | { rejected: Rejected }

export type EventSearch = {
  /**
   * Newest first. Undefined: too many searches are in progress. Rejects if Kafka does not answer.
   * @param destinationsOf ids of destinations that may have a delivery from this source.
   */
  search(
    query: EventsQuery,
    destinationsOf: (sourceId: string) => readonly string[],
  ): Promise<Searched<FoundCall>> | undefined
}

export type SearchParts = {
  openOffsets: () => Promise<Pick<Offsets, 'bounds' | 'at' | 'close'>>
  events: { reader: Pick<Reader, 'read' | 'partitions'>; codec: Pick<Codec<Event>, 'decode'> }
  rejected: { reader: Pick<Reader, 'read' | 'partitions'>; codec: Pick<Codec<Rejected>, 'decode'> }
}

const MAX_AT_ONCE = 4
/** For one request; a record takes a few microseconds. */
const MAX_RECORDS = 200_000
const MAX_MS = 3_000
/** Records to read at once. Few, if most of them match and have to be decoded. */
const STEP = 10_000
const FEW = 500

export function createEventSearch(parts: SearchParts): EventSearch {
  const semaphore = createSemaphore(1)
  let underWay = 0

  async function searchNow(
    query: EventsQuery,
    destinationsOf: (sourceId: string) => readonly string[],
  ): Promise<Searched<FoundCall>> {
    const begun = performance.now()
    const { limit, cursor, since, until } = query
    const offsets = await parts.openOffsets()
    try {
      return await searchBack({
        parts: [eventsPart(query, parts, destinationsOf), rejectedPart(query, parts)],
        offsets,
        limit,
        cursor,
        since,
        until,
        now: Date.now(),
        step: isNarrow(query) ? STEP : FEW,
        most: MAX_RECORDS,
        isOver: () => performance.now() - begun > MAX_MS,
        semaphore,
      })
    } finally {
      await offsets.close()
    }
  }

  return {
    search(query, destinationsOf) {
      if (underWay >= MAX_AT_ONCE) return undefined
      underWay += 1
      return searchNow(query, destinationsOf).finally(() => {
        underWay -= 1
      })
    },
  }
}

/** Other searches decode every record and, for a delivery id, hash it. */
const isNarrow = ({ messageId, userId, anonymousId }: EventsQuery) =>
  messageId !== undefined || userId !== undefined || anonymousId !== undefined

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
      return decoded(codec, value, (rejected) => (isMatch(rejected) ? { rejected } : undefined))
    },
  }
}

function decoded<T>(
  codec: Pick<Codec<T>, 'decode'>,
  value: Buffer,
  take: (value: T) => FoundCall | undefined,
): FoundCall | undefined | Promise<FoundCall | undefined> {
  // decode now: later the fetch's buffer may be gone
  const decoding = codec.decode(value)
  if (decoding instanceof Promise) return decoding.then((found) => (found.ok ? take(found.value) : undefined))
  return decoding.ok ? take(decoding.value) : undefined
}

export type EventReading = { events: EventSearch; trace: Trace; close(): Promise<void> }

export type EventReadingParts = {
  connection: Connection
  ladder: Ladder
  codecs: {
    event: Pick<Codec<Event>, 'decode'>
    rejected: Pick<Codec<Rejected>, 'decode'>
    attempt: Pick<Codec<Attempt>, 'decode'>
  }
  onFatal: (error: Error) => void
}

/** Opens the readers; they read nothing until a search starts. */
export async function openEventReading(parts: EventReadingParts): Promise<EventReading> {
  const { connection, ladder, codecs, onFatal } = parts
  const readerOf = (topic: string) => openReader({ connection, topic, onFatal })
  const readers = await Promise.all([readerOf(EVENTS), readerOf(REJECTED), readerOf(ATTEMPTS)])
  const [events, rejected, attempts] = readers
  const open = () => openOffsets(connection)
  return {
    events: createEventSearch({
      openOffsets: open,
      events: { reader: events, codec: codecs.event },
      rejected: { reader: rejected, codec: codecs.rejected },
    }),
    trace: createTrace({ openOffsets: open, reader: attempts, codec: codecs.attempt, ladder }),
    close: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  }
}
