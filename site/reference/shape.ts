import { posix } from 'node:path'
import { code, table } from '../markdown.ts'

/** The JSON Schema keywords of the two APIs. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  format?: string
  pattern?: string
  default?: unknown
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/** The page of the named shapes; '' for the same page. */
export type ShapesAt = string

/** One line of Markdown with the type and its limits. */
export function typeOf(schema: Schema, at: ShapesAt): string {
  const { $ref, anyOf, oneOf, allOf, items, additionalProperties: values } = schema
  if ($ref) return linkTo($ref, at)
  const choices = anyOf ?? oneOf
  if (choices) return [...new Set(choices.map((each) => typeOf(each, at)))].join(' or ')
  if (allOf) return allOf.flatMap((each) => combined(each, at)).join(', ')
  if ('const' in schema) return code(JSON.stringify(schema.const))
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ')
  if (items) return `array of ${typeOf(items, at)}${limitsOf(schema)}`
  const type = [schema.type ?? 'any'].flat().join(' or ')
  if (typeof values === 'object' && Object.keys(values).length > 0)
    return `${type} with values: ${typeOf(values, at)}`
  return `${type}${limitsOf(schema)}`
}

function linkTo(ref: string, at: ShapesAt): string {
  const name = posix.basename(ref)
  return `[${name}](${at}#${name.toLowerCase()})`
}

/** A part of `allOf` that only requires fields of another part. */
function combined(schema: Schema, at: ShapesAt): string[] {
  if (schema.$ref || schema.type) return [typeOf(schema, at)]
  const required = schema.required ?? []
  return required.length === 0 ? [] : [`with ${required.map(code).join(' and ')}`]
}

function limitsOf(schema: Schema): string {
  const { format, pattern, minimum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } = schema
  // the largest safe integer is no limit
  const maximum = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum
  const least = minimum === -Number.MAX_SAFE_INTEGER ? undefined : minimum
  const limits = [
    format,
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    range(least, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    pattern && `matches ${code(pattern)}`,
    'default' in schema && `default ${code(JSON.stringify(schema.default))}`,
  ].filter(Boolean)
  return limits.length > 0 ? ` (${limits.join('; ')})` : ''
}

function range(from: number | undefined, to: number | undefined, unit: string): string | undefined {
  if (from === undefined && to === undefined) return undefined
  if (to === undefined) return `at least ${from}${unit}`
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`
}

type Field = { name: string; isRequired: boolean; schema: Schema }

/** Includes nested fields: `a.b`, and `a[].b` in an array. */
function fieldsOf(schema: Schema, above = ''): Field[] {
  const nested = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((parts) => parts ?? [])
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const name = above + key
    return [
      { name, isRequired: schema.required?.includes(key) ?? false, schema: value },
      ...within(value, name),
    ]
  })
  const all = [...own, ...nested.flatMap((each) => fieldsOf(each, above))]
  return all.filter(({ name }, index) => all.findIndex((field) => field.name === name) === index)
}

function within(schema: Schema, name: string): Field[] {
  const values = schema.additionalProperties
  return [
    ...fieldsOf(schema, `${name}.`),
    ...(schema.items ? within(schema.items, `${name}[]`) : []),
    ...(typeof values === 'object' ? within(values, `${name}.*`) : []),
    ...[schema.anyOf, schema.oneOf].flatMap((parts) =>
      (parts ?? []).flatMap((each) => (each.items ? within(each.items, `${name}[]`) : [])),
    ),
  ]
}

/** Undefined without fields. */
export function fieldTable(schema: Schema, at: ShapesAt): string | undefined {
  const fields = fieldsOf(schema.items ?? schema)
  if (fields.length === 0) return undefined
  return table(
    ['field', 'type', 'required', 'description'],
    fields.map(({ name, isRequired, schema }) => [
      code(name),
      typeOf(schema, at),
      isRequired ? 'yes' : '',
      schema.description ?? '',
    ]),
  )
}
