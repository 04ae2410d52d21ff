import { setTimeout as sleep } from 'node:timers/promises'
import type { Decoded } from '../../../kafka/consume/record.ts'
import { type Reader, readOne } from '../../../kafka/tables/reader.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import { EVENTS } from '../../../schemas/topics.ts'

/** Undefined: the event is gone, or the record that needs it is no longer owned. */
export type EventAt = (place: PartitionOffset, owned: () => boolean) => Promise<Event | undefined>

export type EventReaderParts = {
  readerOf: (topic: string) => Promise<Pick<Reader, 'read' | 'bounds'>>
  event: Pick<Codec<Event>, 'decode'>
}

const RETRY_MS = 1_000

/** Waits while Kafka or the registry does not answer. */
export function eventReader({ readerOf, event }: EventReaderParts, retryMs = RETRY_MS): EventAt {
  async function read(place: PartitionOffset): Promise<Decoded<Event> | undefined> {
    let decoding: ReturnType<typeof event.decode> | undefined
    await readOne(await readerOf(EVENTS), place, (value) => {
      decoding = event.decode(value)
    })
    return decoding
  }

  return async (place, owned) => {
    while (owned()) {
      const decoded = await read(place).catch(() => UNANSWERED)
      if (decoded?.ok) return decoded.value
      if (decoded?.reason !== 'registry_unreachable') return undefined
      await sleep(retryMs)
    }
    return undefined
  }
}

const UNANSWERED = { ok: false, reason: 'registry_unreachable', message: 'Kafka does not answer' } as const
