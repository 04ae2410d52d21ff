import type { Fault, Members } from '../faults.ts'
import type { Destination } from '../settings.ts'

/** What a client gives of a destination's secrets, its masks replaced. Nothing is known of their types yet. */
type Given = { sharedSecret?: unknown; previousSecret?: unknown; previousSecretExpiresAt?: unknown }
type By = { old: Old; now: string }
type Old = Pick<Destination, 'sharedSecret' | 'previousSecret' | 'previousSecretExpiresAt'> | undefined

/**
 * A new `sharedSecret` with an expiry and no `previousSecret` begins a rotation: the secret that there was becomes the
 * previous one. So whoever may write can rotate, without knowing it; and again, when the answer was lost: the same secret
 * with the same expiry changes nothing.
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
 * A previous secret and its expiry belong together, and the present secret is not lost by mistake. Records from before this
 * rule are still read, and signed without it. @param by.now ISO 8601 UTC.
 */
export function rotationFaults(body: Members, { old, now }: By): Fault[] {
  const { sharedSecret, previousSecret, previousSecretExpiresAt }: Given = body
  const previous = previousSecret ?? rotated(body, old).previousSecret
  if (previous !== undefined && previousSecretExpiresAt === undefined) return [noExpiry]
  if (previous === undefined && previousSecretExpiresAt !== undefined) return [noPrevious]
  const changes = sharedSecret !== undefined && sharedSecret !== old?.sharedSecret
  return changes ? loss({ previous, expiry: previousSecretExpiresAt }, { old, now }) : []
}

/** What a change of the present secret would do to it at once, although a rotation is asked for. */
function loss({ previous, expiry }: { previous: unknown; expiry: unknown }, { old, now }: By): Fault[] {
  if (previous === undefined || !old) return []
  const isOver = isPast(expiry, now)
  if (previous === old.sharedSecret) return isOver ? [past] : []
  // read, given a new secret, and sent back with its mask: with a new expiry, or while the old one lies ahead
  const isLeftOver = isOver && expiry === old.previousSecretExpiresAt
  return previous === old.previousSecret && !isLeftOver ? [outdated] : []
}

/** What is no time at all is none that has passed. */
const isPast = (time: unknown, now: string) => typeof time === 'string' && Date.parse(time) <= Date.parse(now)

const noExpiry: Fault = {
  pointer: '/previousSecretExpiresAt',
  code: 'required',
  message: 'say until when the previous secret signs as well (ISO 8601), or leave previousSecret out',
}
const noPrevious: Fault = {
  pointer: '/previousSecret',
  code: 'required',
  message:
    'give the secret that expires then, or a new sharedSecret, which makes the present one the previous; or leave previousSecretExpiresAt out',
}
const outdated: Fault = {
  pointer: '/previousSecret',
  code: 'outdated_secret',
  message:
    'this is the secret before the present one, which would be lost at once: leave it out, and the present one becomes the previous as sharedSecret changes; or leave previousSecretExpiresAt out as well, if it is to be lost',
}
const past: Fault = {
  pointer: '/previousSecretExpiresAt',
  code: 'already_past',
  message:
    'the present secret would be lost at once: give a time that lies ahead; or leave it and previousSecret out, if it is to be lost',
}
