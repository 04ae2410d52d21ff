import { hash } from 'node:crypto'
import { memberText } from '../../process/json-text.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import type { Outline } from '../../settings/lookup.ts'
import { render } from '../render.ts'
import { candidates, groupOf } from './compiled-rules.ts'

/** For all webhook destinations (docs/reference/ingest.md, "Integrations"). */
const WEBHOOKS = 'Webhooks'

export const UNMATCHED = ['integrations', 'disabled', 'type'] as const
export type Unmatched = (typeof UNMATCHED)[number]

/** `ruled`: destinations that get the event if their rules let it pass. */
export type Matching = { plain: readonly Outline[]; ruled: readonly Outline[] }

const NONE: readonly Outline[] = []

/** @returns destinations that are enabled, accept the event's type, and are not turned off by the call. */
export function matching(event: Event, connected: readonly Outline[]): Matching {
  if (connected.length === 0 || !allowsWebhooks(event.integrations)) return { plain: NONE, ruled: NONE }
  const group = groupOf(connected)
  const matches = (destination: Outline) => mismatch(event, destination) === undefined
  const ruled = group.ruled.length === 0 ? NONE : candidates(event, group).filter(matches)
  return { plain: group.plain.filter(matches), ruled }
}

export const unmatched = (event: Event, destination: Outline): Unmatched | undefined =>
  allowsWebhooks(event.integrations) ? mismatch(event, destination) : 'integrations'

function mismatch({ type }: Event, { enabled, eventTypes }: Outline): Unmatched | undefined {
  if (!enabled) return 'disabled'
  return eventTypes === undefined || eventTypes.includes(type) ? undefined : 'type'
}

/** `Webhooks` decides (true or an object is on, false is off), or else `All`, which defaults to true. */
export function allowsWebhooks(integrations: string | null): boolean {
  if (integrations === null) return true
  // not parsed: anyone with a write key can give each event an object of 32 KB
  const choice = memberText(integrations, WEBHOOKS)
  if (choice !== undefined && /^[tf[{]/.test(choice)) return choice !== 'false'
  const all = memberText(integrations, 'All')
  return (all === undefined || all === 'null' ? memberText(integrations, 'all') : all) !== 'false'
}

export const UNATTEMPTED = {
  firstAttemptAt: null,
  attempt: 0,
  deferrals: 0,
  refusedUrls: [],
  refusedIndexes: [],
  delivered: false,
  replay: false,
  acceptedAt: null,
  history: [],
  deadReason: null,
  deadAt: null,
} satisfies Partial<Delivery>

/** For destinations without rules. @param now ms since 1970. */
export const deliveryOf = (event: Event, destinationId: string, now: number): Delivery =>
  deliveryWith(render(event), event, { destinationId, now })

export const deliveryWith = (
  body: string,
  event: Event,
  { destinationId, now }: { destinationId: string; now: number },
): Delivery => ({
  ...idsOf(event, destinationId),
  type: event.type,
  body,
  routedAt: now,
  ...UNATTEMPTED,
  acceptedAt: event.receivedAt,
})

/** The only fields that differ between deliveries of one event: those before `type`. */
export const idsOf = (
  { sourceId, messageId }: Pick<Event, 'sourceId' | 'messageId'>,
  destinationId: string,
): Pick<Delivery, 'deliveryId' | 'messageId' | 'sourceId' | 'destinationId'> => ({
  deliveryId: deliveryId(destinationId, { sourceId, messageId }),
  messageId,
  sourceId,
  destinationId,
})

/** The same event and destination always give the same id. */
export function deliveryId(
  destinationId: string,
  { sourceId, messageId }: Pick<Event, 'sourceId' | 'messageId'>,
): string {
  return hash('sha256', `${destinationId}\0${sourceId}\0${messageId}`, 'hex').slice(0, 32)
}

/** Keeps first attempts of one user and destination in one partition, and so in order. */
export const deliveryKey = (
  destinationId: string,
  { userId, anonymousId }: Pick<Event, 'userId' | 'anonymousId'>,
) => `${destinationId}/${userId ?? anonymousId ?? ''}`
