import type { OutRecord } from '../kafka/produce/produce.ts'
import type { Codec } from './codec.ts'
import type { Event } from './event.ts'
import { EVENTS } from './topics.ts'

/** The key keeps a user's events of one source in order. The header shows duplicates without decoding. */
export function eventRecord(event: Event, encode: Codec<Event>['encode']): OutRecord {
  return {
    topic: EVENTS,
    key: `${event.sourceId}/${event.userId ?? event.anonymousId}`,
    value: encode(event),
    headers: { messageId: event.messageId },
  }
}

type NullableFields = { [Field in keyof Event as null extends Event[Field] ? Field : never]: null }

/** For events that Sluice itself makes. */
export const EMPTY_EVENT: NullableFields = {
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
