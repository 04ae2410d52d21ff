import type { FailCode, RulesResult } from '../rules/compile.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import type { Outline } from '../settings/lookup.ts'
import { compiledOf, hashedBy } from './compiled-rules.ts'
import { deliveryKey, idsOf, UNATTEMPTED } from './routing.ts'

/**
 * The result of a destination's rules for an event. `key`: key of the record. `failed`: `delivery` is a dead letter with a
 * redacted body. `unread_rules`: the rules cannot be read, so the dead letter contains nothing of the event.
 */
export type Ruled =
  | { outcome: 'sent'; delivery: Delivery; key: string }
  | { outcome: 'failed'; code: FailCode | 'unread_rules'; message: string; delivery: Delivery; key: string }
  | Extract<RulesResult, { outcome: 'filtered' | 'sampled_out' }>

/** The same event and rules always give the same result. @param now ms since 1970. */
export function applyRules(event: Event, destination: Outline, now: number): Ruled {
  const compiled = compiledOf(destination)
  if (!compiled || destination.hasUnreadRules) return unread(event, destination, now)
  const result = compiled.run(event)
  if (result.outcome === 'filtered' || result.outcome === 'sampled_out') return result
  const key = compiled.changesUser ? hashedKey(destination, event) : deliveryKey(destination.id, event)
  const delivery = withBody(result.body, event, { destinationId: destination.id, now })
  if (result.outcome === 'sent') return { outcome: 'sent', delivery, key }
  const { code, message } = result
  return { outcome: 'failed', code, message, key, delivery: dead(delivery, now) }
}

const withBody = (
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

const dead = (delivery: Delivery, now: number): Delivery => ({
  ...delivery,
  deadReason: 'rules_failed',
  deadAt: now,
})

function unread(event: Event, { id }: Outline, now: number): Ruled {
  const delivery = withBody(JSON.stringify({ type: event.type }), event, { destinationId: id, now })
  const message = 'the rules of the destination cannot be read'
  return { outcome: 'failed', code: 'unread_rules', message, key: `${id}/`, delivery: dead(delivery, now) }
}

/** Keeps a user's events in order without naming the user. */
const hashedKey = (destination: Outline, { userId, anonymousId }: Event) =>
  `${destination.id}/${hashedBy(destination, userId ?? anonymousId ?? '')}`
