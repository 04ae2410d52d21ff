import { idShape } from '../../../settings/settings.ts'
import { accessTo, type Operation } from '../operation.ts'
import { codesOf, describeErrors, describeResponse, errorsByStatus } from './responses.ts'
import { createSchemas, type JsonSchema, type SchemaOf } from './schemas.ts'

/** `url` is in Fastify's form, with `:id`. */
export type RoutedOperation = { method: string; url: string; operation: Operation }

/** OpenAPI 3.1, with the schemas that validate requests. */
export function describe(operations: readonly RoutedOperation[]) {
  const { components, schemaOf } = createSchemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { method, url, operation } of operations) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: describeOperation(operation, { method, path, schemaOf }),
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice control', version: '1', description: ABOUT, license: LICENSE },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { session: [] }],
    paths: inOrder(paths),
    components: {
      responses: {
        Elsewhere: describeErrors(['not_found'], schemaOf),
        OtherMethod: describeErrors(['method_not_allowed'], schemaOf),
        NotReadable: describeErrors(['bad_request', 'request_timeout', 'headers_too_large'], schemaOf),
      },
      schemas: inOrder(components),
      securitySchemes: SECURITY,
    },
  }
}

const inOrder = <T>(named: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)))

const LICENSE = { name: 'Apache-2.0', identifier: 'Apache-2.0' }

const SECURITY = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: '`CONTROL_TOKEN`; read-only: `CONTROL_VIEW_TOKEN`.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sluice_session',
    description: 'Set by signing in. Changes also need the header `X-Requested-With`, with any value.',
  },
}

type OperationContext = { method: string; path: string; schemaOf: SchemaOf }

function describeOperation(operation: Operation, { method, path, schemaOf }: OperationContext) {
  const { summary, description, responses } = operation
  const [, , tag = ''] = path.split('/')
  const requestBody = bodyOf(operation, schemaOf)
  const successes = Object.entries(responses).map(([status, shown]) => [
    status,
    describeResponse(shown, schemaOf),
  ])
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
    responses: {
      ...Object.fromEntries(successes),
      ...errorsByStatus(codesOf(method, path, operation), schemaOf),
    },
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

const ABOUT = `Change settings, audiences and traits, delete users, replay deliveries, and see what is happening. Every request needs a token, or
the cookie of a session.

Every error is \`{code, message, errors}\`: programs rely on \`code\`, people read \`message\`, and \`errors\` lists everything that is
wrong with the request's content. Unknown fields and query parameters are rejected.

Records have a \`version\`, which is also their \`ETag\`. A PUT names the version that it replaces in \`If-Match\`, and gets 412 if someone
else has changed the record since. With \`?dryRun=true\`, a write is checked and the response shows what it would change, but nothing is
written. Secrets and header values of webhooks appear as \`"***"\`, write keys too unless you use the admin token; send \`"***"\` back to
leave a value as it is. Lists come in pages: pass \`next\` as \`cursor\` to get the next page; it is null on the last one.

After ten wrong tokens a minute from one network, further wrong ones get 429 with \`Retry-After\`. A valid token always works.`
