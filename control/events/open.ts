import type { Ladder } from '../../deliverer/ladder.ts'
import type { Connection } from '../../kafka/client.ts'
import { openOffsets } from '../../kafka/offsets.ts'
import { openReader } from '../../kafka/reader.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import { ATTEMPTS, EVENTS, REJECTED } from '../../schemas/topics.ts'
import { createEventSearch, type EventSearch } from './search.ts'
import { createTrace, type Trace } from './trace.ts'

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

/** Readers that wait for somebody to search; nothing is read before. */
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
