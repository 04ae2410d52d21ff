import { idShape } from '../../schemas/settings.ts'
import { accessTo, type Operation } from '../http/operation.ts'
import { codesOf } from './codes.ts'
import { answered, refusals } from './responses.ts'
import type { JsonSchema, SchemaOf } from './schemas.ts'

type Place = { method: string; path: string; schemaOf: SchemaOf }

/** One operation of the document. */
export function described(operation: Operation, { method, path, schemaOf }: Place) {
  const { summary, description, answers } = operation
  const [, , tag = ''] = path.split('/')
  const requestBody = bodyOf(operation, schemaOf)
  const successes = Object.entries(answers).map(([status, shown]) => [status, answered(shown, schemaOf)])
  return {
    operationId: `${method} ${path.replace('/api/', '')}`
      .replace(/\W+/g, '_')
      .replace(/_$/, '')
      .toLowerCase(),
    tags: [tag],
    summary,
    ...(description && { description }),
    ...(accessTo(method, operation) === 'anyone' && { security: [] }),
    parameters: parametersOf(operation, path, schemaOf),
    ...(requestBody && { requestBody }),
    responses: { ...Object.fromEntries(successes), ...refusals(codesOf(method, path, operation), schemaOf) },
  }
}

function parametersOf({ query, headers = {} }: Operation, path: string, schemaOf: SchemaOf) {
  const inPath = path.includes('{id}')
    ? [{ name: 'id', in: 'path', required: true, schema: schemaOf(idShape, 'input') }]
    : []
  const inHeaders = Object.entries(headers).map(([name, { schema, required, description }]) => ({
    name,
    in: 'header',
    required,
    description,
    schema: schemaOf(schema, 'input'),
  }))
  return [...inPath, ...(query ? inQuery(schemaOf(query, 'input')) : []), ...inHeaders]
}

/** Each property of the query's schema is a parameter. */
function inQuery({ properties = {}, required = [] }: JsonSchema) {
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }))
}

function bodyOf({ body }: Operation, schemaOf: SchemaOf) {
  if (!body) return undefined
  const types = Object.entries(body.types).map(([type, shape]) => [
    type,
    { schema: schemaOf(shape, 'input') },
  ])
  return { required: body.required, content: Object.fromEntries(types) }
}
