import type { Connection } from '../../../kafka/client.ts'
import type { Decoded } from '../../../kafka/consume/record.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import { openReader, type Reader } from '../../../kafka/tables/reader.ts'
import { type Begun, begunLate, openTail } from '../../../kafka/tables/tail.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { rulesCodeIn } from '../../../schemas/dead-record.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { DEAD } from '../../../schemas/topics.ts'
import { decodeOrSkip, type Followed, followed, type Unreadable } from '../records/following.ts'
import { createRecentRecords, type RecentRecords } from '../records/recent-records.ts'
import { type DeadLetter, letterOf } from './dead-letter.ts'

/** Recent dead letters, without their bodies. */
export type DeadLetters = Followed & {
  recent: Pick<RecentRecords<DeadLetter>, 'all' | 'page' | 'oldest'>
  isPartial: Extent['isPartial']
  /** @throws if Kafka does not answer. */
  firstOffsets(): Promise<FirstOffsets>
  readBodies: ReadBodies
  /** Since when `onRead` got all dead letters, in ms since 1970; null: all in the topic. Known once loaded. */
  readSince(): number | null
  close(): Promise<void>
}

/** About 500 bytes each. */
const MAX_COUNT = 100_000

export async function followDead(options: {
  connection: Connection
  codec: Pick<Codec<Delivery>, 'decode'>
  onUnreadable: (reason: Unreadable) => void
  /** Includes dead letters from before this process started. */
  onRead: (letter: DeadLetter) => void
  onFatal: (error: Error) => void
}): Promise<DeadLetters> {
  const { connection, codec, onUnreadable, onRead, onFatal } = options
  const extent = createExtent()
  const recent = createRecentRecords<DeadLetter>({ maxCount: MAX_COUNT, onDropped: extent.dropped })
  const decode = decodeOrSkip(codec, onUnreadable)
  const [reader, tail] = await Promise.all([
    openReader({ connection, topic: DEAD, onFatal }),
    openTail({
      connection,
      topics: [DEAD],
      // bodies are read too, so read no more than can be held
      last: (partitions) => Math.ceil(MAX_COUNT / partitions),
      onRecord: ({ value, partition, offset, timestamp, headers, key: bytes }) => {
        const key = String(bytes ?? '')
        const code = rulesCodeIn(headers)
        decode(value, (delivery) => {
          const letter = letterOf(delivery, { partition, offset, timestamp, key, code })
          recent.add(letter)
          onRead(letter)
        })
      },
      onFatal,
    }),
  ])
  extent.begun(tail.begun)
  const progress = followed(tail, recent)
  let readSince: number | null = null
  void progress.loaded.then(() => {
    if (begunLate(tail).size > 0) readSince = recent.oldest()
  })
  return {
    recent,
    ...progress,
    readSince: () => readSince,
    isPartial: extent.isPartial,
    firstOffsets: reader.bounds,
    readBodies: bodiesFrom(reader, codec),
    close: async () => void (await Promise.all([tail.close(), reader.close()])),
  }
}

/**
 * Leaves out expired and unreadable deliveries.
 * @throws if Kafka does not answer.
 */
export type ReadBodies = <T extends PartitionOffset>(places: readonly T[]) => Promise<Map<T, Delivery>>

export function bodiesFrom(reader: Pick<Reader, 'read'>, codec: Pick<Codec<Delivery>, 'decode'>): ReadBodies {
  return async <T extends PartitionOffset>(places: readonly T[]) => {
    const byKey = new Map(places.map((place) => [keyOf(place), place]))
    const found = new Map<T, Decoded<Delivery> | Promise<Decoded<Delivery>>>()
    const partitions = rangesOf(places).map(async (ranges) => {
      for (const range of ranges)
        await reader.read(range, (value, offset) => {
          const place = byKey.get(keyOf({ partition: range.partition, offset }))
          if (place) found.set(place, codec.decode(value))
        })
    })
    await Promise.all(partitions)
    const bodies = new Map<T, Delivery>()
    for (const [place, decoding] of found) {
      const decoded = await decoding
      if (decoded.ok) bodies.set(place, decoded.value)
    }
    return bodies
  }
}

const keyOf = ({ partition, offset }: PartitionOffset) => `${partition}/${offset}`

export type FirstOffsets = ReadonlyMap<number, { low: number }>

/** For each partition of a topic, the offset from which all records are in memory. */
export type Extent = {
  begun(begun: readonly Begun[]): void
  dropped(place: PartitionOffset): void
  isPartial(firstOffsets: FirstOffsets): boolean
}

export function createExtent(): Extent {
  const heldFrom = new Map<number, number>()
  const raise = (partition: number, offset: number) =>
    heldFrom.set(partition, Math.max(heldFrom.get(partition) ?? 0, offset))
  return {
    begun(begun) {
      for (const { partition, from } of begun) raise(partition, from)
    },
    dropped: ({ partition, offset }) => void raise(partition, offset + 1),
    isPartial: (firstOffsets) =>
      [...firstOffsets].some(([partition, { low }]) => low < (heldFrom.get(partition) ?? 0)),
  }
}

export const isStillInTopic = (firstOffsets: FirstOffsets, { partition, offset }: PartitionOffset): boolean =>
  offset >= (firstOffsets.get(partition)?.low ?? 0)

/** Reads smaller gaps too: a fetch returns about this many records anyway. */
const NEAR = 50

export function rangesOf(places: readonly PartitionOffset[]): Range[][] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, inPartition]) => {
    const ranges: Range[] = []
    for (const { offset } of inPartition.toSorted((a, b) => a.offset - b.offset)) {
      const last = ranges.at(-1)
      if (last && offset - last.to <= NEAR) last.to = offset + 1
      else ranges.push({ partition, from: offset, to: offset + 1 })
    }
    return ranges
  })
}
