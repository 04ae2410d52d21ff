import type { Fault, Members } from '../faults.ts'

/**
 * Names of the fields of a secret that can be replaced with an overlap: until the expiry, the previous one
 * stays valid as well.
 */
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
 * A new secret with an expiry and no previous one starts a rotation: the current secret becomes the previous
 * one. So clients can rotate a secret without knowing it. Repeating the request, if its response was lost,
 * changes nothing.
 * @param given masks replaced, types unknown.
 * @returns the secret that becomes or stays the previous one; undefined if the request starts no rotation.
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
 * A previous secret needs an expiry and vice versa, and the current secret is not lost by mistake. Stored
 * records that break this rule are still read and used.
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
  // the client read the record, set a new secret and sent the mask back: with a new expiry, or before the old
  // one has passed
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
  message: `add the value that expires then, or a new ${current}, which makes the current one the previous; or leave ${expiry} out`,
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
