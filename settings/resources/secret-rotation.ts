import type { Fault, Members } from '../faults.ts'

/** The previous secret stays valid until the expiry. */
type Names = { readonly current: string; readonly previous: string; readonly expiry: string }

export const SHARED_SECRET = {
  current: 'sharedSecret',
  previous: 'previousSecret',
  expiry: 'previousSecretExpiresAt',
} as const satisfies Names

export const WRITE_KEY = {
  current: 'writeKey',
  previous: 'previousWriteKey',
  expiry: 'previousWriteKeyExpiresAt',
} as const satisfies Names

/**
 * A new secret with an expiry and no previous one starts a rotation: the current secret, which clients need not know,
 * becomes the previous one. Repeating the request changes nothing.
 * @param given masks replaced, types unknown.
 * @returns the previous secret; undefined if no rotation starts.
 */
export function movedSecret(given: object, old: object | undefined, names: Names): string | undefined {
  const { current, previous, expiry } = fieldsOf(given, names)
  if (!old || current === undefined || previous !== undefined || expiry === undefined) return undefined
  const before = fieldsOf(old, names)
  const isNew = current !== before.current
  if (!isNew && expiry !== before.expiry) return undefined
  const moved = isNew ? before.current : before.previous
  return typeof moved === 'string' ? moved : undefined
}

type By = { old: object | undefined; now: string }

/**
 * A previous secret and an expiry need each other, and no request may lose the current secret by mistake. Stored
 * records are exempt.
 * @param by.now ISO 8601 UTC.
 */
export function rotationFaults(body: Members, { old, now }: By, names: Names): Fault[] {
  const { current, previous = movedSecret(body, old, names), expiry } = fieldsOf(body, names)
  if (previous !== undefined && expiry === undefined) return [noExpiry(names)]
  if (previous === undefined && expiry !== undefined) return [noPrevious(names)]
  const before = old && fieldsOf(old, names)
  const changes = current !== undefined && current !== before?.current
  return changes && before ? lossFaults({ current, previous, expiry }, { before, now }, names) : []
}

type Fields = Record<keyof Names, unknown>

function fieldsOf(record: object, { current, previous, expiry }: Names): Fields {
  const fields: Members = { ...record }
  return { current: fields[current], previous: fields[previous], expiry: fields[expiry] }
}

function lossFaults(
  { previous, expiry }: Fields,
  { before, now }: { before: Fields; now: string },
  names: Names,
): Fault[] {
  if (previous === undefined) return []
  const isOver = isPast(expiry, now)
  if (previous === before.current) return isOver ? [past(names)] : []
  // the client sent the mask of the previous secret back with a new secret: with a new expiry, or before the old one
  // has passed
  const isLeftOver = isOver && expiry === before.expiry
  return previous === before.previous && !isLeftOver ? [outdated(names)] : []
}

/** False for an invalid time. */
export const isPast = (time: unknown, now: string) =>
  typeof time === 'string' && Date.parse(time) <= Date.parse(now)

const noExpiry = ({ previous, expiry }: Names): Fault => ({
  pointer: `/${expiry}`,
  code: 'required',
  message: `add the time until which ${previous} stays valid (ISO 8601), or leave it out`,
})
const noPrevious = ({ current, previous, expiry }: Names): Fault => ({
  pointer: `/${previous}`,
  code: 'required',
  message: `${expiry} needs a previous value: send it, or send a new ${current} (the current one then becomes the previous one), or leave ${expiry} out`,
})
const outdated = ({ previous, expiry }: Names): Fault => ({
  pointer: `/${previous}`,
  code: 'outdated_secret',
  message: `this is already the previous value, so the current one would be lost at once. Leave it out to make the current one the previous. To drop the current one, leave ${expiry} out as well`,
})
const past = ({ previous, expiry }: Names): Fault => ({
  pointer: `/${expiry}`,
  code: 'already_past',
  message: `the current value would be lost at once: give a time in the future. To drop the current one, leave ${expiry} and ${previous} out`,
})
