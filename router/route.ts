import { hash } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import { render } from './render.ts'

/** What of a delivery tells of its attempts, before the first. */
export const UNTRIED = {
  firstAttemptAt: null,
  attempt: 0,
  deferrals: 0,
  refusedUrls: [],
  refusedIndexes: [],
  delivered: false,
  replay: false,
  history: [],
  deadReason: null,
  deadAt: null,
} satisfies Partial<Delivery>

/** @returns an event's delivery to a destination. `now`: milliseconds of the epoch. */
export const deliveryOf = (event: Event, destinationId: string, now: number): Delivery => ({
  ...idsOf(event, destinationId),
  type: event.type,
  body: render(event),
  routedAt: now,
  ...UNTRIED,
})

/** What alone differs between the deliveries of one event: the fields before `type`. */
export const idsOf = (
  { sourceId, messageId }: Pick<Event, 'sourceId' | 'messageId'>,
  destinationId: string,
): Pick<Delivery, 'deliveryId' | 'messageId' | 'sourceId' | 'destinationId'> => ({
  deliveryId: deliveryId(destinationId, { sourceId, messageId }),
  messageId,
  sourceId,
  destinationId,
})

/** The same event for the same destination has the same id, however often it is routed. */
export function deliveryId(
  destinationId: string,
  { sourceId, messageId }: Pick<Event, 'sourceId' | 'messageId'>,
): string {
  return hash('sha256', `${destinationId}\0${sourceId}\0${messageId}`, 'hex').slice(0, 32)
}

/** First attempts of one user at one destination stay in one partition, so in order. */
export const deliveryKey = (
  destinationId: string,
  { userId, anonymousId }: Pick<Event, 'userId' | 'anonymousId'>,
) => `${destinationId}/${userId ?? anonymousId ?? ''}`
