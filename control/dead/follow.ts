import type { Connection } from '../../kafka/client.ts'
import { openReader } from '../../kafka/reader.ts'
import { openTail, type TailRecord } from '../../kafka/tail.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { DEAD } from '../../schemas/topics.ts'
import { decodeOrPass, type Unreadable } from '../newest/decode.ts'
import { type Followed, followed } from '../newest/loaded.ts'
import { createNewest, type Newest } from '../newest/newest.ts'
import { bodiesFrom, type ReadBodies } from './bodies.ts'
import { createExtent, type Extent, type Lows } from './extent.ts'
import type { DeadLetter } from './query.ts'

/** The dead letters of late: what each of them is, and where in the topic it lies. */
export type DeadLetters = Followed & {
  newest: Pick<Newest<DeadLetter>, 'all' | 'page' | 'oldest'>
  isPartial: Extent['isPartial']
  /** Of the topic now. @throws when Kafka does not answer. */
  lows(): Promise<Lows>
  readBodies: ReadBodies
  close(): Promise<void>
}

/** About 300 bytes each. */
const MOST = 100_000

export async function followDead(options: {
  connection: Connection
  codec: Pick<Codec<Delivery>, 'decode'>
  onUnreadable: (reason: Unreadable) => void
  /** Told of each that is read, those from before this process too. */
  onRead: (letter: DeadLetter) => void
  onFatal: (error: Error) => void
}): Promise<DeadLetters> {
  const { connection, codec, onUnreadable, onRead, onFatal } = options
  const extent = createExtent()
  const newest = createNewest<DeadLetter>({ most: MOST, onDropped: extent.dropped })
  const decode = decodeOrPass(codec, onUnreadable)
  const [reader, tail] = await Promise.all([
    openReader({ connection, topic: DEAD, onFatal }),
    openTail({
      connection,
      topics: [DEAD],
      // with their bodies they are read: no more than can be held
      last: (partitions) => Math.ceil(MOST / partitions),
      onRecord: ({ value, ...record }) =>
        decode(value, (delivery) => {
          const letter = letterOf(delivery, record)
          newest.add(letter)
          onRead(letter)
        }),
      onFatal,
    }),
  ])
  extent.begun(tail.begun)
  return {
    newest,
    ...followed(tail, newest),
    isPartial: extent.isPartial,
    lows: reader.bounds,
    readBodies: bodiesFrom(reader, codec),
    close: async () => void (await Promise.all([tail.close(), reader.close()])),
  }
}

type Where = Pick<TailRecord, 'partition' | 'offset' | 'timestamp'>

/** A record of another writer may lack what ours set. */
function letterOf(
  { deliveryId, messageId, destinationId, deadReason, deadAt }: Delivery,
  { partition, offset, timestamp }: Where,
): DeadLetter {
  const reason = deadReason ?? 'unknown'
  return { time: deadAt ?? timestamp, partition, offset, deliveryId, messageId, destinationId, reason }
}
