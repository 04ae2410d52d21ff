import { type Code, meaningOf, statusOf } from '../http/codes.ts'
import type { AnswerHeader, Shown } from '../http/operation.ts'
import { problemShape, type SchemaOf } from './schemas.ts'

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

export function answered(shown: Shown, schemaOf: SchemaOf) {
  const { description, body, type = 'application/json', headers = [] } = shown
  return {
    description,
    ...(headers.length > 0 && { headers: described(headers) }),
    ...(body && { content: { [type]: { schema: schemaOf(body, 'output') } } }),
  }
}

/** By status, each with the codes that it may have. */
export function refusals(codes: readonly Code[], schemaOf: SchemaOf) {
  const byStatus = Object.groupBy(codes, statusOf)
  const entries = Object.entries(byStatus).map(([status, its = []]) => [status, refused(its, schemaOf)])
  return Object.fromEntries(entries)
}

export function refused(codes: readonly Code[], schemaOf: SchemaOf) {
  const [header, ...others] = new Set(codes.map((code) => WITH[code]))
  return {
    description: codes.map((code) => `\`${code}\`: ${meaningOf(code)}`).join('\n\n'),
    ...(header && others.length === 0 && { headers: described([header]) }),
    content: {
      'application/json': {
        schema: { allOf: [schemaOf(problemShape, 'output'), { properties: { code: { enum: codes } } }] },
      },
    },
  }
}

const described = (names: readonly Header[]) =>
  Object.fromEntries(
    names.map((name) => [name, { description: HEADERS[name], required: true, schema: { type: 'string' } }]),
  )
