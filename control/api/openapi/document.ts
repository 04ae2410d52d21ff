import { z } from 'zod'
import { CODES, type Code, FAULT_CODES, meaningOf, statusOf } from '../../../settings/error-codes.ts'
import { idShape } from '../../../settings/settings.ts'
import { type AnswerHeader, accessTo, isRead, type Operation, type ResponseSpec } from '../operation.ts'

/** An operation with its method and path; `url` in Fastify's form, with `:id`. */
export type RoutedOperation = { method: string; url: string; operation: Operation }

/** Builds the API's OpenAPI 3.1 document from its operations and the schemas that validate requests. */
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

type Place = { method: string; path: string; schemaOf: SchemaOf }

/** One operation of the document. */
export function describeOperation(operation: Operation, { method, path, schemaOf }: Place) {
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

/** Turns each property of the query's schema into a parameter. */
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

type Header = AnswerHeader | 'retry-after' | 'allow' | 'www-authenticate'

const HEADERS: Record<Header, string> = {
  etag: 'The version, quoted.',
  location: 'URL of the created resource.',
  'set-cookie': 'Sets or deletes the session cookie.',
  'retry-after': 'Whole seconds to wait before the next try.',
  allow: 'Methods that the path supports.',
  'www-authenticate': 'The expected authentication scheme.',
}

/** Headers that always accompany a code. */
const WITH: Partial<Record<Code, Header>> = {
  unauthorized: 'www-authenticate',
  method_not_allowed: 'allow',
  version_mismatch: 'etag',
  too_many_attempts: 'retry-after',
  too_many_tests: 'retry-after',
  too_many_searches: 'retry-after',
  too_many_watchers: 'retry-after',
  unavailable: 'retry-after',
}

export function describeResponse(shown: ResponseSpec, schemaOf: SchemaOf) {
  const { description, body, type = 'application/json', headers = [] } = shown
  return {
    description,
    ...(headers.length > 0 && { headers: describeHeaders(headers) }),
    ...(body && { content: { [type]: { schema: schemaOf(body, 'output') } } }),
  }
}

/** Responses by status, with the codes that each can carry. */
export function errorsByStatus(codes: readonly Code[], schemaOf: SchemaOf) {
  const byStatus = Object.groupBy(codes, statusOf)
  const entries = Object.entries(byStatus).map(([status, its = []]) => [
    status,
    describeErrors(its, schemaOf),
  ])
  return Object.fromEntries(entries)
}

export function describeErrors(codes: readonly Code[], schemaOf: SchemaOf) {
  const [header, ...others] = new Set(codes.map((code) => WITH[code]))
  return {
    description: codes.map((code) => `\`${code}\`: ${meaningOf(code)}`).join('\n\n'),
    ...(header && others.length === 0 && { headers: describeHeaders([header]) }),
    content: {
      'application/json': {
        schema: { allOf: [schemaOf(problemShape, 'output'), { properties: { code: { enum: codes } } }] },
      },
    },
  }
}

const describeHeaders = (names: readonly Header[]) =>
  Object.fromEntries(
    names.map((name) => [name, { description: HEADERS[name], required: true, schema: { type: 'string' } }]),
  )

/** The keywords that this file uses. */
export type JsonSchema = {
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  [keyword: string]: unknown
}

const faultShape = z
  .strictObject({
    pointer: z.string().describe('JSON pointer (RFC 6901) into the body or the query; empty for the whole.'),
    code: z.enum(FAULT_CODES),
    message: z.string(),
  })
  .meta({ id: 'Fault' })

export const problemShape = z
  .strictObject({
    code: z.enum(CODES),
    message: z.string().describe('What to do, for people. Do not parse it.'),
    errors: z.array(faultShape).describe("Everything that is wrong with the request's content."),
  })
  .meta({ id: 'Problem' })

export type SchemaOf = (shape: z.ZodType, io: 'input' | 'output') => JsonSchema

/** Converts zod schemas; those with a name (`.meta({ id })`) become components. */
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

/** Points references at the document's components instead of zod's `$defs`. */
function referring(schema: object): JsonSchema & { $defs?: Record<string, JsonSchema> } {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

/** Introduction of the document. */
export const ABOUT = `Change settings, audiences and traits, delete users, replay deliveries, and see what is going on. Every request needs a token, or
the cookie of a session.

Every error is \`{code, message, errors}\`: programs rely on \`code\`, people read \`message\`, and \`errors\` lists everything that is
wrong with the request's content. Unknown fields and query parameters are rejected.

Records have a \`version\`, which is also their \`ETag\`. A PUT names the version that it replaces in \`If-Match\`, and gets 412 if someone
else has changed the record since. With \`?dryRun=true\`, a write is checked and the response shows what it would change, but nothing is
written. Secrets and header values of webhooks appear as \`"***"\`, write keys too unless you use the admin token; send \`"***"\` back to
leave a value as it is. Lists come in pages: pass \`next\` as \`cursor\` to get the next page; it is null on the last one.

After ten wrong tokens a minute from one network, further wrong ones get 429 with \`Retry-After\`. A valid token always works.`

const CONTENT: readonly Code[] = [
  'bad_request',
  'invalid_json',
  'too_deep',
  'unsupported_media_type',
  'body_too_large',
  'request_timeout',
]

/** All codes that a request can get: those of its operation, and those common to its method and path. */
export function codesOf(method: string, path: string, operation: Operation): readonly Code[] {
  const access = accessTo(method, operation)
  const isChange = !isRead(method)
  return [
    ...new Set([
      ...(operation.errorCodes ?? []),
      ...(access === 'anyone' ? [] : GUARDED),
      ...(isChange && access !== 'anyone' ? (['csrf'] as const) : []),
      ...(access === 'admin' ? (['read_only'] as const) : []),
      ...(path.includes('{') ? (['invalid_path'] as const) : []),
      // even an unexpected body is read
      ...(isChange ? CONTENT : []),
      ...ANY,
    ]),
  ]
}

const GUARDED: readonly Code[] = ['unauthorized', 'too_many_attempts', 'unavailable']
/** Any query can be invalid. */
const ANY: readonly Code[] = ['validation_failed', 'internal']
