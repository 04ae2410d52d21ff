import { hash } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import type { Outline } from '../schemas/settings-index.ts'
import { matching } from './match.ts'
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

/** @returns one delivery per destination that gets the event; the body is rendered once. `now`: milliseconds of the epoch. */
export function route(event: Event, connected: readonly Outline[], now: number): Delivery[] {
  const destinations = matching(event, connected)
  if (destinations.length === 0) return []
  const body = render(event)
  return destinations.map(({ id }) => ({
    deliveryId: deliveryId(id, event),
    messageId: event.messageId,
    sourceId: event.sourceId,
    destinationId: id,
    type: event.type,
    body,
    routedAt: now,
    ...UNTRIED,
  }))
}

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
