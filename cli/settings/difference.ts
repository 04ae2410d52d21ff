import { isDeepStrictEqual } from 'node:util'
import { MASK } from '../../control/mask.ts'
import { isObject } from '../../control/settings/members.ts'
import { mapSecrets } from '../../schemas/seal.ts'

/** One field that differs, like `webhooks/0/url`; a side that does not have it is absent. Secrets are masked. */
export type Change = { field: string; before?: unknown; after?: unknown }

/** What the server counts up itself. */
const STAMPS: ReadonlySet<string> = new Set(['id', 'version', 'updatedAt', 'createdAt', 'lastSyncAt'])

/** Field by field; undefined is a record that is not there. */
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

/** Behind a URL's path tokens may stand, and what is printed here may be kept by a build server. */
const shown = (field: string, value: unknown) =>
  /^webhooks\/\d+\/url$/.test(field) && typeof value === 'string'
    ? value.replace(/[?#].*$/s, `?${MASK}`)
    : value

/** Lists of plain values are one field. An empty object is none. */
function leaves(record: object): Map<string, unknown> {
  const own = Object.entries(record).filter(([name, value]) => !STAMPS.has(name) && value !== undefined)
  return new Map(own.flatMap(([name, value]) => leavesOf(name, value)))
}

function leavesOf(field: string, value: unknown): [string, unknown][] {
  if (isObject(value) || (Array.isArray(value) && value.some(isObject)))
    return Object.entries(value).flatMap(([name, inner]) => leavesOf(`${field}/${name}`, inner))
  return [[field, value]]
}
