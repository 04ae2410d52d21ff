import type { Fault, Members } from '../faults.ts'
import type { Destination } from '../settings.ts'

/** The secrets in a request, masks replaced, types unknown. */
type Given = { sharedSecret?: unknown; previousSecret?: unknown; previousSecretExpiresAt?: unknown }
type By = { old: Old; now: string }
type Old = Pick<Destination, 'sharedSecret' | 'previousSecret' | 'previousSecretExpiresAt'> | undefined

/**
 * A new `sharedSecret` with an expiry and no `previousSecret` starts a rotation: the current secret becomes
 * the previous one. So clients can rotate a secret without knowing it. Repeating the request, if its response
 * was lost, changes nothing.
 */
export function rotated(given: Given, old: Old): Pick<Destination, 'previousSecret'> {
  const { sharedSecret, previousSecret, previousSecretExpiresAt: expiry } = given
  if (!old || sharedSecret === undefined || previousSecret !== undefined || expiry === undefined) return {}
  const isNew = sharedSecret !== old.sharedSecret
  if (!isNew && expiry !== old.previousSecretExpiresAt) return {}
  const moved = isNew ? old.sharedSecret : old.previousSecret
  return moved === undefined ? {} : { previousSecret: moved }
}

/**
 * A previous secret needs an expiry and vice versa, and the current secret is not lost by mistake. Stored
 * records that break this rule are still read and used for signing.
 * @param by.now ISO 8601 UTC.
 */
export function rotationFaults(body: Members, { old, now }: By): Fault[] {
  const { sharedSecret, previousSecret, previousSecretExpiresAt }: Given = body
  const previous = previousSecret ?? rotated(body, old).previousSecret
  if (previous !== undefined && previousSecretExpiresAt === undefined) return [noExpiry]
  if (previous === undefined && previousSecretExpiresAt !== undefined) return [noPrevious]
  const changes = sharedSecret !== undefined && sharedSecret !== old?.sharedSecret
  return changes ? lossFaults({ previous, expiry: previousSecretExpiresAt }, { old, now }) : []
}

function lossFaults({ previous, expiry }: { previous: unknown; expiry: unknown }, { old, now }: By): Fault[] {
  if (previous === undefined || !old) return []
  const isOver = isPast(expiry, now)
  if (previous === old.sharedSecret) return isOver ? [past] : []
  // the client read the record, set a new secret and sent the mask back: with a new expiry, or before the old
  // one has passed
  const isLeftOver = isOver && expiry === old.previousSecretExpiresAt
  return previous === old.previousSecret && !isLeftOver ? [outdated] : []
}

/** False for an invalid time. */
const isPast = (time: unknown, now: string) => typeof time === 'string' && Date.parse(time) <= Date.parse(now)

const noExpiry: Fault = {
  pointer: '/previousSecretExpiresAt',
  code: 'required',
  message: 'add the time until which the previous secret stays valid (ISO 8601), or leave previousSecret out',
}
const noPrevious: Fault = {
  pointer: '/previousSecret',
  code: 'required',
  message:
    'add the secret that expires then, or a new sharedSecret, which turns the current one into the previous; or leave previousSecretExpiresAt out',
}
const outdated: Fault = {
  pointer: '/previousSecret',
  code: 'outdated_secret',
  message:
    'this is already the previous secret, so the current one would be lost at once: leave it out, and the current one becomes the previous; to drop the current one, leave previousSecretExpiresAt out as well',
}
const past: Fault = {
  pointer: '/previousSecretExpiresAt',
  code: 'already_past',
  message:
    'the current secret would be lost at once: give a time in the future; to drop the current one, leave previousSecretExpiresAt and previousSecret out',
}
