import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../process/json-objects.ts'
import { MASK } from '../../settings/mask.ts'
import { mapSecrets } from '../../settings/seal.ts'

/** `field`: such as `webhooks/0/url`. A side without the field has no value. Secrets are masked. */
export type Change = { field: string; before?: unknown; after?: unknown }

const STAMPS: ReadonlySet<string> = new Set(['id', 'version', 'updatedAt', 'createdAt', 'lastSyncAt'])

/** Undefined stands for no record. */
export function difference(before: object = {}, after: object = {}): Change[] {
  const [old, now] = [leaves(before), leaves(after)]
  const [shownOld, shownNow] = [leaves(masked(before)), leaves(masked(after))]
  const fields = [...new Set([...now.keys(), ...old.keys()])]
  return fields
    .filter((field) => !isDeepStrictEqual(old.get(field), now.get(field)))
    .map((field) => ({
      field,
      ...(shownOld.has(field) && { before: shown(field, shownOld.get(field)) }),
      ...(shownNow.has(field) && { after: shown(field, shownNow.get(field)) }),
    }))
}

const masked = (record: object) => mapSecrets(record, () => MASK)

/** A URL's query may contain tokens, and build servers store output. */
const shown = (field: string, value: unknown) =>
  /^webhooks\/\d+\/url$/.test(field) && typeof value === 'string'
    ? value.replace(/[?#].*$/s, `?${MASK}`)
    : value

/** A list of plain values is one field; an empty object has none. */
function leaves(record: object): Map<string, unknown> {
  const fields = Object.entries(record).filter(([name, value]) => !STAMPS.has(name) && value !== undefined)
  return new Map(fields.flatMap(([name, value]) => leavesOf(name, value)))
}

function leavesOf(field: string, value: unknown): [string, unknown][] {
  if (isObject(value) || (Array.isArray(value) && value.some(isObject)))
    return Object.entries(value).flatMap(([name, inner]) => leavesOf(`${field}/${name}`, inner))
  return [[field, value]]
}
