import type { OutRecord } from '../kafka/produce/produce.ts'
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

type MayBeEmpty = { [Column in keyof Event as null extends Event[Column] ? Column : never]: null }

/** Every column of an event that may be empty, empty: for events that are made here, which say little. */
export const NOTHING_SAID: MayBeEmpty = {
  userId: null,
  anonymousId: null,
  event: null,
  name: null,
  category: null,
  groupId: null,
  previousId: null,
  properties: null,
  traits: null,
  context: null,
  integrations: null,
  sentAt: null,
  originalTimestamp: null,
}
