/**
 * Generates types for openapi-fetch from the control API's OpenAPI document. Supports only the keywords that it uses.
 * (openapi-typescript needs the compiler API, which TypeScript 7 lacks.)
 */

type Schema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
}
type Content = Record<string, { schema: Schema }>
type Parameter = { name: string; in: string; required: boolean; schema: Schema }
type Operation = {
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** @returns a TypeScript module with `paths` and `components`. */
export function apiTypes({ paths, components }: Document): string {
  return `// Written by \`npm run console-types\` from the control API's description: change that, not this.

export interface components {
  schemas: ${lines(Object.entries(components.schemas).map(([name, schema]) => `${name}: ${typeOf(schema)}`))}
}

export interface paths ${lines(
    Object.entries(paths).map(([path, methods]) => {
      const operations = Object.entries(methods).map(([method, one]) => `${method}: ${operationOf(one)}`)
      return `'${path}': ${block(operations)}`
    }),
  )}
`
}

const lines = (fields: readonly string[]) => `{\n${fields.map((field) => `  ${field}\n`).join('')}}`

const block = (lines: readonly string[]) => `{ ${lines.join('; ')} }`

function operationOf({ parameters, requestBody, responses }: Operation): string {
  const isOk = ([status]: [string, unknown]) => Number(status) < 400
  const answers = Object.entries(responses)
    .filter(isOk)
    .map(([status, { content }]) => `${status}: { headers: {}; content: ${contentOf(content)} }`)
  const problem = `default: { headers: {}; content: { 'application/json': components['schemas']['Problem'] } }`
  return block([
    `parameters: ${parametersOf(parameters)}`,
    ...(requestBody
      ? [`requestBody${requestBody.required ? '' : '?'}: { content: ${contentOf(requestBody.content)} }`]
      : []),
    `responses: ${block([...answers, problem])}`,
  ])
}

const contentOf = (content: Content | undefined) =>
  content
    ? block(Object.entries(content).map(([type, { schema }]) => `'${type}': ${typeOf(schema)}`))
    : 'never'

function parametersOf(parameters: readonly Parameter[]): string {
  const places = Object.groupBy(parameters, (parameter) => parameter.in)
  return block(
    Object.entries(places).map(([place, group = []]) => {
      const isNeeded = group.some(({ required }) => required)
      const fields = group.map(({ name, required, schema }) => field(name, schema, required))
      return `${place}${isNeeded ? '' : '?'}: ${block(fields)}`
    }),
  )
}

const field = (name: string, schema: Schema, required: boolean) =>
  `'${name}'${required ? '' : '?'}: ${typeOf(schema)}${required ? '' : ' | undefined'}`

function typeOf(schema: Schema): string {
  const { $ref, type, items, anyOf, oneOf } = schema
  if ($ref) return `components['schemas']['${$ref.split('/').at(-1)}']`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)))
  if (anyOf ?? oneOf) return union((anyOf ?? oneOf ?? []).map(typeOf))
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one })))
  if (type === 'array') return `(${items ? typeOf(items) : 'unknown'})[]`
  if (type === 'object') return objectOf(schema)
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' || type === 'boolean' || type === 'null' ? type : 'unknown'
}

const union = (types: readonly string[]) => `(${types.join(' | ')})`

function objectOf({ properties, required = [], additionalProperties }: Schema): string {
  if (properties)
    return block(
      Object.entries(properties).map(([name, schema]) => field(name, schema, required.includes(name))),
    )
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
  return `Record<string, ${others}>`
}
