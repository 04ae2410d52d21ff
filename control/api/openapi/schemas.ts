import { z } from 'zod'

export type JsonSchema = {
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  [keyword: string]: unknown
}

export type SchemaOf = (shape: z.ZodType, io: 'input' | 'output') => JsonSchema

/** Schemas with a name (`.meta({ id })`) become components. */
export function createSchemas() {
  const components: Record<string, JsonSchema> = {}

  /** @param io `input`: as clients send it; `output`: as responses hold it. */
  const schemaOf: SchemaOf = (shape, io) => {
    const { $schema: _, $defs = {}, ...schema } = referring(z.toJSONSchema(shape, { io, override: readable }))
    Object.assign(components, $defs)
    return schema
  }

  return { components, schemaOf }
}

/** Drops a 400-character pattern that only repeats the format. */
function readable({ jsonSchema }: { jsonSchema: { format?: string; pattern?: string } }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
}

function referring(schema: object): JsonSchema & { $defs?: Record<string, JsonSchema> } {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
