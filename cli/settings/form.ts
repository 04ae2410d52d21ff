import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { isObject } from '../../settings/faults.ts'
import { MASK } from '../../settings/mask.ts'
import { mapSecrets } from '../../settings/seal.ts'
import { computationShape, destinationShape, idShape, sourceShape } from '../../settings/settings.ts'

/**
 * The one form of settings in files: lists of records under these keys, each record as the API takes it and with its id. In the
 * order in which they are written: what names another comes after it.
 */
export const COLLECTIONS = ['sources', 'destinations', 'audiences', 'traits'] as const
export type Collection = (typeof COLLECTIONS)[number]

/** One record of a collection. */
export type Ref = { collection: Collection; id: string }

export const nameOf = ({ collection, id }: Ref) => `${collection}/${id}`

/** As the API's, or the mask. */
const writeKey = z
  .string()
  .regex(/^(\*{3}|[\x21-\x39\x3b-\x7e]{8,128})$/, '8 to 128 printable characters without space and colon')

/** A record in a file. A mask in the place of a secret keeps the one that is stored. */
export const recordShapes = {
  sources: sourceShape.extend({ id: idShape, writeKey: writeKey.optional() }),
  destinations: destinationShape.extend({ id: idShape }),
  audiences: computationShape.extend({ id: idShape }),
  traits: computationShape.extend({ id: idShape }),
} as const satisfies Record<Collection, z.ZodType>

const recordsOf = (collection: Collection) => z.array(recordShapes[collection]).optional()

const fileShape = z.strictObject({
  sources: recordsOf('sources'),
  destinations: recordsOf('destinations'),
  audiences: recordsOf('audiences'),
  traits: recordsOf('traits'),
})

/** What editors check files by, as JSON Schema: draft 7 is what they know best. */
export function jsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(fileShape, { io: 'input', target: 'draft-7' })
  const description = `Settings of Sluice. \${NAME} in a text stands for a variable of the environment, "${MASK}" for the secret that is stored.`
  return { $schema, title: 'Sluice settings', description, ...schema }
}

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
