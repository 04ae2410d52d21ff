import type { OutRecord } from '../kafka/produce.ts'
import type { Codec } from './codec.ts'
import type { Event } from './event.ts'
import { EVENTS } from './topics.ts'

/** One user's events of one source share a partition. With the id in a header duplicates are found without decoding. */
export function eventRecord(event: Event, encode: Codec<Event>['encode']): OutRecord {
  return {
    topic: EVENTS,
    key: `${event.sourceId}/${event.userId ?? event.anonymousId}`,
    value: encode(event),
    headers: { messageId: event.messageId },
  }
}
