import type { Event } from './event.ts'

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
