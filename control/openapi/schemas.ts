import { z } from 'zod'
import { CODES, FAULT_CODES } from '../http/codes.ts'

/** As far as the document takes it apart. */
export type JsonSchema = {
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  [keyword: string]: unknown
}

const faultShape = z
  .strictObject({
    pointer: z.string().describe('JSON pointer (RFC 6901) into the body or the query; empty: the whole.'),
    code: z.enum(FAULT_CODES),
    message: z.string(),
  })
  .meta({ id: 'Fault' })

export const problemShape = z
  .strictObject({
    code: z.enum(CODES),
    message: z.string().describe('What to do, for people.'),
    errors: z.array(faultShape).describe('All that is wrong with the content of the request.'),
  })
  .meta({ id: 'Problem' })

export type SchemaOf = (shape: z.ZodType, io: 'input' | 'output') => JsonSchema

/** JSON schemas of zod's, each that has a name (`.meta({ id })`) once, among the components. */
export function createSchemas() {
  const components: Record<string, JsonSchema> = {}

  /** @param io `input`: as a client sends it; `output`: as it is answered. */
  const schemaOf: SchemaOf = (shape, io) => {
    const { $schema: _, $defs = {}, ...schema } = referring(z.toJSONSchema(shape, { io, override: readable }))
    Object.assign(components, $defs)
    return schema
  }

  return { components, schemaOf }
}

/** What the format says already is said by a pattern of 400 characters as well. */
function readable({ jsonSchema }: { jsonSchema: { format?: string; pattern?: string } }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
}

/** With references to components in place of zod's own. */
function referring(schema: object): JsonSchema & { $defs?: Record<string, JsonSchema> } {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
