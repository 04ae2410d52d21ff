import { z } from 'zod'
import { MASK } from '../../control/mask.ts'
import { computationShape, destinationShape, idShape, sourceShape } from '../../schemas/settings.ts'

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
