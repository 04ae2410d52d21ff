import { z } from 'zod'
import { MASK } from '../../settings/mask.ts'
import {
  computationShape,
  destinationShape,
  idShape,
  sourceShape,
  suppressionShape,
} from '../../settings/settings.ts'

/**
 * The keys of a settings file, in the order of writing: a record follows those that it refers to. A suppression's id
 * derives from its content.
 */
export const COLLECTIONS = ['sources', 'destinations', 'audiences', 'traits', 'suppressions'] as const
export type Collection = (typeof COLLECTIONS)[number]

export type Ref = { collection: Collection; id: string }

export const nameOf = ({ collection, id }: Ref) => `${collection}/${id}`

/** The API's form, or the mask. */
const writeKey = z
  .string()
  .regex(/^(\*{3}|[\x21-\x39\x3b-\x7e]{8,128})$/, '8 to 128 printable characters without space and colon')

/** A mask keeps the stored secret. */
export const recordShapes = {
  sources: sourceShape.extend({
    id: idShape,
    writeKey: writeKey.optional(),
    previousWriteKey: writeKey.optional(),
  }),
  destinations: destinationShape.extend({ id: idShape }),
  audiences: computationShape.extend({ id: idShape }),
  traits: computationShape.extend({ id: idShape }),
  suppressions: suppressionShape,
} as const satisfies Record<Collection, z.ZodType>

const recordsOf = (collection: Collection) => z.array(recordShapes[collection]).optional()

const fileShape = z.strictObject({
  sources: recordsOf('sources'),
  destinations: recordsOf('destinations'),
  audiences: recordsOf('audiences'),
  traits: recordsOf('traits'),
  suppressions: recordsOf('suppressions'),
})

/** For editors, which support draft 7 best. */
export function jsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(fileShape, { io: 'input', target: 'draft-7' })
  const description = `Settings of Sluice. \${NAME} in a text stands for an environment variable, "${MASK}" for the stored secret.`
  return { $schema, title: 'Sluice settings', description, ...schema }
}
