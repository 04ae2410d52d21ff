import { hash } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import type { Outline } from '../settings/lookup.ts'
import { render } from './render.ts'

/** The Integrations object names it so (docs/reference/ingest.md, "Integrations"); it speaks of all destinations of this name at once. */
const WEBHOOKS = 'Webhooks'

/** Why a destination does not get an event of a source that it is connected to. */
export type Unmatched = 'integrations' | 'disabled' | 'type'

/** @returns the destinations that get this event: on, of its type, and not turned off by the call. */
export function matching(event: Event, connected: readonly Outline[]): Outline[] {
  if (connected.length === 0 || !wanted(event.integrations)) return []
  return connected.filter((destination) => unfit(event, destination) === undefined)
}

/** @returns undefined: the destination gets it. */
export const unmatched = (event: Event, destination: Outline): Unmatched | undefined =>
  wanted(event.integrations) ? unfit(event, destination) : 'integrations'

function unfit({ type }: Event, { enabled, eventTypes }: Outline): Unmatched | undefined {
  if (!enabled) return 'disabled'
  return eventTypes === undefined || eventTypes.includes(type) ? undefined : 'type'
}

/**
 * Whether the call's Integrations object leaves Webhooks on (docs/reference/ingest.md, "Integrations").
 * Its own key decides: true or options turn it on, false turns it off; without it `All` does, which is true when absent.
 */
export function wanted(integrations: string | null): boolean {
  if (integrations === null) return true
  const parsed: unknown = JSON.parse(integrations)
  if (typeof parsed !== 'object' || parsed === null) return true
  const choices = new Map<string, unknown>(Object.entries(parsed))
  const own = choices.get(WEBHOOKS)
  if (typeof own === 'boolean') return own
  if (typeof own === 'object' && own !== null) return true
  return (choices.get('All') ?? choices.get('all')) !== false
}

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
