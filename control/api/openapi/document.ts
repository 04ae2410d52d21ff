import { z } from 'zod'
import { CODES, type Code, FAULT_CODES, meaningOf, statusOf } from '../../../settings/error-codes.ts'
import { idShape } from '../../../settings/settings.ts'
import { type AnswerHeader, accessTo, isRead, type Operation, type ResponseSpec } from '../operation.ts'

/** An operation where it is: `url` as Fastify has it, with `:id`. */
export type RoutedOperation = { method: string; url: string; operation: Operation }

/** The API as OpenAPI 3.1, made of the operations that its paths were given and of the very schemas that these validate with. */
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
    description: '`CONTROL_TOKEN`, or to read only `CONTROL_VIEW_TOKEN`.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sluice_session',
    description:
      'Of who has signed in. A change needs the header `X-Requested-With` as well, whatever it says.',
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

type Header = AnswerHeader | 'retry-after' | 'allow' | 'www-authenticate'

const HEADERS: Record<Header, string> = {
  etag: 'The version, in quotes.',
  location: 'Where it is from now on.',
  'set-cookie': 'The session, or its end.',
  'retry-after': 'Whole seconds, until it is worth another try.',
  allow: 'What the path takes.',
  'www-authenticate': 'How to ask.',
}

/** Those that always come with a code. */
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

/** By status, each with the codes that it may have. */
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

/** What holds for the whole API. */
export const ABOUT = `Settings, audiences and deletions, and what goes on. Each request brings a token, or the cookie of a session.

Every error is \`{code, message, errors}\`: clients go by the codes, people by the messages, and \`errors\` names all that is wrong
with the content of a request. Fields and parameters that are not described are refused.

Records have a \`version\`, which is their \`ETag\`: a PUT says in \`If-Match\` which one it replaces, and gets 412 when another has
been written meanwhile. With \`?dryRun=true\` a write of settings is judged as it would be, the answer tells what it would change,
and nothing is written. Secrets and the values of webhooks' headers are shown as \`"***"\`, write keys to the admin alone; sent
back, \`"***"\` keeps what there is. Lists come in pages: \`next\` is the \`cursor\` of the next one, null at the end.

Whoever sends ten wrong tokens a minute from one address, or a hundred come from all, waits for \`Retry-After\`.`

const CONTENT: readonly Code[] = [
  'bad_request',
  'invalid_json',
  'too_deep',
  'unsupported_media_type',
  'body_too_large',
  'request_timeout',
]

/** Every code that a request may be answered with: those that its operation names, and those of all of its kind. */
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
      // whatever a client sends with it is read
      ...(isChange ? CONTENT : []),
      ...ANY,
    ]),
  ]
}

const GUARDED: readonly Code[] = ['unauthorized', 'too_many_attempts', 'unavailable']
/** At least the query can be wrong. */
const ANY: readonly Code[] = ['validation_failed', 'internal']
