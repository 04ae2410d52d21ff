// Written by `npm run schemas` from event.avsc: change that, not this.

/** The six calls of clients, and delete for a deletion request. */
export type EventType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias' | 'delete'

/** One accepted call of a source, as it lies in topic events. Key of the record: sourceId/(userId or anonymousId). */
export type Event = {
  /** Id of the call: the client's (1 to 100 characters), else a UUIDv7 made at ingest. Duplicates within the window are routed once. */
  messageId: string
  /** Source whose write key the call carried. */
  sourceId: string
  /** Which call it was. */
  type: EventType
  /** Id of the user in the customer's database. For alias: the new id. */
  userId: null | string
  /** Id of a user who is not known yet. */
  anonymousId: null | string
  /** track: name of the action. */
  event: null | string
  /** page and screen: its name. */
  name: null | string
  /** page and screen: its category. */
  category: null | string
  /** group: id of the company, team or account. */
  groupId: null | string
  /** alias: the id to alias from. */
  previousId: null | string
  /** track, page, screen: JSON object, as JSON.stringify prints it. */
  properties: null | string
  /** identify, group: JSON object, as JSON.stringify prints it. */
  traits: null | string
  /** Device, app, library, address and the like: JSON object, as JSON.stringify prints it. */
  context: null | string
  /** Which destinations the call is for: JSON object of destination names and All, as JSON.stringify prints it. */
  integrations: null | string
  /** When it happened, corrected for the client's clock skew. */
  timestamp: number
  /** When ingest received it. */
  receivedAt: number
  /** When the client sent it, by the client's clock. */
  sentAt: null | number
  /** When it happened, by the client's clock. */
  originalTimestamp: null | number
}
