import type { Budget } from '../../rules/call.ts'
import type { FailCode, RulesResult } from '../../rules/compile.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import type { Outline } from '../../settings/lookup.ts'
import { compiledOf, hashedBy } from './compiled-rules.ts'
import { deliveryKey, deliveryWith } from './routing.ts'

/** `too_costly_together`: see router/rule-runs.ts. */
type Code = FailCode | 'unread_rules' | 'too_costly_together'

/** `unread_rules`: the body has only the event's type. */
export type RulesRun =
  | Exclude<RulesResult, { outcome: 'failed' }>
  | { outcome: 'failed'; code: Code; message: string; body: string }

/** `key`: of the record. `failed`: `delivery` is a dead letter with a redacted body. */
export type Ruled =
  | { outcome: 'sent'; delivery: Delivery; key: string }
  | { outcome: 'failed'; code: Code; message: string; delivery: Delivery; key: string }
  | Extract<RulesResult, { outcome: 'filtered' | 'sampled_out' }>

/** @param now ms since 1970. */
export function applyRules(event: Event, destination: Outline, now: number): Ruled {
  const result = runRules(event, destination)
  if (result.outcome === 'filtered' || result.outcome === 'sampled_out') return result
  return deliveryFrom(result, event, { destination, now })
}

export function runRules(event: Event, destination: Outline, budget?: Budget): RulesRun {
  const compiled = compiledOf(destination)
  return !compiled || destination.hasUnreadRules ? unread(event) : compiled.run(event, budget)
}

export type WithBody = Extract<RulesRun, { body: string }>

export function deliveryFrom(
  result: WithBody,
  event: Event,
  { destination, now }: { destination: Outline; now: number },
): Extract<Ruled, { delivery: Delivery }> {
  const key = keyFor(destination, event)
  const delivery = deliveryWith(result.body, event, { destinationId: destination.id, now })
  if (result.outcome === 'sent') return { outcome: 'sent', delivery, key }
  const { code, message } = result
  return { outcome: 'failed', code, message, key, delivery: dead(delivery, now) }
}

function unread({ type }: Event): RulesRun {
  const message = 'the rules of the destination cannot be read'
  return { outcome: 'failed', code: 'unread_rules', message, body: JSON.stringify({ type }) }
}

/** Unreadable rules may redact the user. */
function keyFor(destination: Outline, event: Event): string {
  const compiled = compiledOf(destination)
  if (!compiled || destination.hasUnreadRules) return `${destination.id}/`
  return compiled.changesUser ? hashedKey(destination, event) : deliveryKey(destination.id, event)
}

const dead = (delivery: Delivery, now: number): Delivery => ({
  ...delivery,
  deadReason: 'rules_failed',
  deadAt: now,
})

/** Keeps a user's events in order without naming the user. */
const hashedKey = (destination: Outline, { userId, anonymousId }: Event) =>
  `${destination.id}/${hashedBy(destination, userId ?? anonymousId ?? '')}`
