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
  const places = [...new Set([...now.keys(), ...old.keys()])]
  return places
    .filter((place) => !isDeepStrictEqual(old.get(place), now.get(place)))
    .map((place) => {
      const field = (JSON.parse(place) as (string | number)[]).join('/')
      return {
        field,
        ...(shownOld.has(place) && { before: shown(field, shownOld.get(place)) }),
        ...(shownNow.has(place) && { after: shown(field, shownNow.get(place)) }),
      }
    })
}

const masked = (record: object) => mapSecrets(record, () => MASK)

/** A URL's query may contain tokens, and build servers store output. */
const shown = (field: string, value: unknown) =>
  /^webhooks\/\d+\/url$/.test(field) && typeof value === 'string'
    ? value.replace(/[?#].*$/s, `?${MASK}`)
    : value

/**
 * The keys are paths in JSON, because names in a shape may contain slashes or look like indexes. A list of plain values
 * is one leaf. An empty object is none, except in rules, because a shape sends it.
 */
function leaves(record: object): Map<string, unknown> {
  const fields = Object.entries(record).filter(([name, value]) => !STAMPS.has(name) && value !== undefined)
  return new Map(fields.flatMap(([name, value]) => leavesOf([name], value)))
}

type Path = readonly (string | number)[]

function leavesOf(path: Path, value: unknown): [string, unknown][] {
  if (Array.isArray(value) && value.some(isObject))
    return value.flatMap((inner, index) => leavesOf([...path, index], inner))
  if (!isObject(value) || (path[0] === 'rules' && Object.keys(value).length === 0))
    return [[JSON.stringify(path), value]]
  return Object.entries(value).flatMap(([name, inner]) => leavesOf([...path, name], inner))
}
