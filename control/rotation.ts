import type { Destination } from '../schemas/settings.ts'
import type { Fault } from './answer.ts'
import type { Members } from './members.ts'

/** What a client gives of a destination's secrets, its masks replaced. Nothing is known of their types yet. */
type Given = { sharedSecret?: unknown; previousSecret?: unknown; previousSecretExpiresAt?: unknown }
type Old = Pick<Destination, 'sharedSecret' | 'previousSecret' | 'previousSecretExpiresAt'> | undefined

/**
 * A new `sharedSecret` with an expiry and no `previousSecret` begins a rotation: the secret that there was becomes the
 * previous one. So whoever may write can rotate, without knowing it.
 */
export function rotated(given: Given, old: Old): Pick<Destination, 'previousSecret'> {
  const { sharedSecret, previousSecret, previousSecretExpiresAt } = given
  const begins = previousSecretExpiresAt !== undefined && previousSecret === undefined
  if (!begins || sharedSecret === undefined || sharedSecret === old?.sharedSecret) return {}
  return old?.sharedSecret === undefined ? {} : { previousSecret: old.sharedSecret }
}

/** A previous secret and its expiry belong together. Records from before this rule are still read, and signed without it. */
export function rotationFaults(body: Members, old: Old): Fault[] {
  const given: Given = body
  const previous = given.previousSecret ?? rotated(given, old).previousSecret
  if (previous !== undefined && given.previousSecretExpiresAt === undefined) return [noExpiry]
  if (previous === undefined && given.previousSecretExpiresAt !== undefined) return [noPrevious]
  return loses(given, old) ? [outdated] : []
}

/** Read, given a new secret and a new expiry, and sent back with its mask: the present secret would be lost at once. */
function loses({ sharedSecret, previousSecret, previousSecretExpiresAt }: Given, old: Old): boolean {
  return (
    old?.previousSecret !== undefined &&
    previousSecret === old.previousSecret &&
    previousSecretExpiresAt !== old.previousSecretExpiresAt &&
    sharedSecret !== undefined &&
    sharedSecret !== old.sharedSecret
  )
}

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
    'this is the secret before the present one: leave it out, and the present one becomes the previous as sharedSecret changes',
}
