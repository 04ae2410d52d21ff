import { z } from 'zod'
import { CODES, type Code, FAULT_CODES, meaningOf, statusOf } from '../../../settings/error-codes.ts'
import { accessTo, isRead, type Operation, type ResponseHeader, type ResponseSpec } from '../operation.ts'
import type { SchemaOf } from './schemas.ts'

type Header = ResponseHeader | 'retry-after' | 'allow' | 'www-authenticate'

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
  storage_full: 'retry-after',
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

const faultShape = z
  .strictObject({
    pointer: z.string().describe('JSON pointer (RFC 6901) into the body or the query; empty for the whole.'),
    code: z.enum(FAULT_CODES),
    message: z.string(),
  })
  .meta({ id: 'Fault' })

const problemShape = z
  .strictObject({
    code: z.enum(CODES),
    message: z.string().describe('What to do, for people. Do not parse it.'),
    errors: z.array(faultShape).describe("Everything that is wrong with the request's content."),
  })
  .meta({ id: 'Problem' })

const CONTENT: readonly Code[] = [
  'bad_request',
  'invalid_json',
  'name_too_long',
  'too_deep',
  'unsupported_media_type',
  'body_too_large',
  'request_timeout',
]

/** Includes those common to its method and path. */
export function codesOf(method: string, path: string, operation: Operation): readonly Code[] {
  const access = accessTo(method, operation)
  const isChange = !isRead(method)
  return [
    ...new Set([
      ...(operation.errorCodes ?? []),
      ...(access === 'anyone' ? [] : GUARDED),
      ...(isChange && access !== 'anyone' ? (['csrf'] as const) : []),
      ...(access === 'admin' ? (['read_only'] as const) : []),
      ...(access === 'anyone' || operation.inWorkspace ? [] : (['outside_workspace'] as const)),
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
