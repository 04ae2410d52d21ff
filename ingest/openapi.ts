import { CALL_TYPES } from '../settings/settings.ts'
import { CODES, type Code, refusal, statusOf } from './answer.ts'
import type { RouteType } from './call/authenticate.ts'
import { methodOf, ROUTES, type Route } from './http/routes.ts'
import {
  BATCH_BYTES,
  BATCH_CALLS,
  CALL_BYTES,
  CALL_LEVELS,
  MADE_GZIP_TIMES,
  REJECTED_LISTED,
  REJECTED_LISTED_EACH,
} from './limits.ts'

export function describe() {
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice ingest', version: '1', description: ABOUT, license: LICENSE },
    servers: [{ url: '/' }],
    paths: Object.fromEntries(ROUTES.map((it) => [it.path, { [methodOf(it).toLowerCase()]: operation(it) }])),
    components: {
      schemas: SCHEMAS,
      securitySchemes: SECURITY,
      responses: { Elsewhere: refused(['not_found']), OtherMethod: refused(['method_not_allowed']) },
    },
  }
}

const ABOUT = `Accepts calls of Segment's libraries. Bodies are JSON whatever their Content-Type, with Content-Encoding gzip or none.
Limits of the inflated body: ${CALL_BYTES} bytes for a call, ${BATCH_BYTES} bytes and ${BATCH_CALLS} calls for a batch, ${CALL_LEVELS} levels of nesting.
Each path may end with a slash. Browsers of any origin may read the answers.`

const LICENSE = { name: 'Apache-2.0', identifier: 'Apache-2.0' }

/** The empty alternative stands for a write key in the body, which OpenAPI cannot describe. */
const SECURITY = {
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'The write key is the user name, the password empty.',
  },
  query: { type: 'apiKey', in: 'query', name: 'writeKey', description: 'The write key, as in the body.' },
}
const security = [{ basic: [] }, { query: [] }, {}]

function operation(route: Route) {
  const { success, more, ...rest } = { more: {}, ...particulars(route) }
  const operationId = `${methodOf(route)} ${route.path}`.replace(/\W+/g, '_').toLowerCase()
  return { operationId, ...rest, responses: { 200: success, ...refusals(codesAt(route)), ...more } }
}

function particulars(route: Route) {
  switch (route.serves) {
    case 'calls': {
      const isBatch = route.type === 'batch'
      return {
        summary: isBatch ? 'Many calls' : `One ${route.type} call`,
        security,
        requestBody: { required: true, content: { 'application/json': { schema: bodyOf(route.type) } } },
        success: json('Kafka has stored the accepted calls.', isBatch ? 'BatchTaken' : 'Taken'),
      }
    }
    case 'metrics':
      return {
        summary: "A client library's own metrics, which are discarded",
        success: json('Discarded.', 'Taken'),
      }
    case 'pixel':
      return { summary: 'One call in the URL of an image', security, parameters: PIXEL, success: IMAGE }
    case 'description':
      return { summary: 'This description', success: json('OpenAPI 3.1.', 'Anything') }
    case 'probe':
      return route.path === '/readyz'
        ? { summary: 'Whether the process should get work', success: TEXT, more: { 503: NOT_READY } }
        : { summary: 'Whether the process runs', success: TEXT }
  }
}

const json = (description: string, schema: keyof typeof SCHEMAS) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
})

const TEXT = { description: 'Yes.', content: { 'text/plain': {} } }
const NOT_READY = { description: 'No. The text says why.', content: { 'text/plain': {} } }
const IMAGE = {
  description: 'A 1 x 1 pixel, whatever happens to the call.',
  content: { 'image/gif': {} },
}

const PIXEL = [
  { name: 'type', in: 'path', required: true, schema: { $ref: '#/components/schemas/CallType' } },
  {
    name: 'data',
    in: 'query',
    description: 'The call as JSON, in base64 or base64url.',
    schema: { type: 'string' },
  },
]

function refusals(codes: readonly Code[]) {
  const byStatus = Object.groupBy(codes, statusOf)
  return Object.fromEntries(Object.entries(byStatus).map(([status, codes = []]) => [status, refused(codes)]))
}

function refused(codes: readonly Code[]) {
  return {
    description: codes.map((code) => `\`${code}\`: ${refusal(code).message}`).join('\n'),
    content: {
      'application/json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Refusal' }, { properties: { code: { enum: codes } } }],
        },
      },
    },
  }
}

const NEEDS: Readonly<Record<RouteType, readonly string[]>> = {
  identify: [],
  track: ['event'],
  page: [],
  screen: [],
  group: ['groupId'],
  alias: ['userId', 'previousId'],
  batch: ['batch'],
}

const bodyOf = (type: RouteType) => ({
  allOf: [{ $ref: `#/components/schemas/${type === 'batch' ? 'Batch' : 'Call'}` }, { required: NEEDS[type] }],
})

const type = { $ref: '#/components/schemas/CallType' }
const id = { type: ['string', 'number', 'null'], description: 'A number is stored as its decimal text.' }
const object = { type: ['object', 'null'] }
const time = { description: 'ISO 8601. Anything else counts as absent.' }
const writeKey = { type: 'string', description: 'If it is neither the user name nor in the query.' }

const code = { type: 'string', enum: CODES }
const message = { type: 'string' }

const SCHEMAS = {
  Anything: { type: 'object' },
  CallType: { type: 'string', enum: CALL_TYPES },
  Call: {
    type: 'object',
    description: 'Needs userId or anonymousId.',
    properties: {
      userId: id,
      anonymousId: id,
      groupId: id,
      previousId: id,
      event: { type: 'string' },
      name: {},
      category: {},
      properties: object,
      traits: object,
      context: object,
      integrations: {
        ...object,
        description:
          'The call is stored but not forwarded if "Webhooks" is false, or if "All" is false and "Webhooks" is neither true nor an object.',
      },
      messageId: { description: 'A string of 1 to 100 characters. Otherwise Sluice makes one.' },
      timestamp: time,
      originalTimestamp: time,
      sentAt: time,
      writeKey,
    },
  },
  Batch: {
    type: 'object',
    properties: {
      batch: {
        type: 'array',
        minItems: 1,
        maxItems: BATCH_CALLS,
        items: {
          allOf: [{ $ref: '#/components/schemas/Call' }, { required: ['type'], properties: { type } }],
        },
      },
      context: {
        ...object,
        description: 'Merged into the context of each call, as are the integrations. The call wins.',
      },
      integrations: object,
      sentAt: time,
      writeKey,
    },
  },
  Taken: { type: 'object', required: ['success'], properties: { success: { const: true } } },
  BatchTaken: {
    type: 'object',
    required: ['success'],
    properties: {
      success: { const: true },
      rejected: {
        type: 'array',
        items: {
          type: 'object',
          required: ['index', 'code', 'message'],
          properties: { index: { type: 'integer', minimum: 0 }, code, message },
        },
      },
      rejectedUnlisted: {
        type: 'integer',
        minimum: 1,
        description: `How many more calls are rejected. \`rejected\` lists the first ${REJECTED_LISTED}, or one for each ${REJECTED_LISTED_EACH} bytes of the batch; gzip counts for at most ${MADE_GZIP_TIMES} times its size.`,
      },
    },
  },
  Refusal: { type: 'object', required: ['code', 'message'], properties: { code, message } },
} as const

const BROKEN: readonly Code[] = ['bad_request', 'request_timeout', 'headers_too_large']
const ANYWHERE: readonly Code[] = [...BROKEN, 'internal_error']

const NOT_SINGLE: readonly Code[] = [
  'not_found',
  'method_not_allowed',
  'unknown_type',
  'batch_not_array',
  'empty_batch',
  'batch_too_large',
  'too_many_calls',
]

/** For a batch as a whole. */
const BATCH: readonly Code[] = [
  ...ANYWHERE,
  'invalid_json',
  'name_too_long',
  'invalid_encoding',
  'unsupported_encoding',
  'unknown_source',
  'source_disabled',
  'notices_only',
  'inflates_too_much',
  'rate_limited',
  'too_many_attempts',
  'batch_not_array',
  'empty_batch',
  'too_deep',
  'batch_too_large',
  'too_many_calls',
  'too_many_chunks',
  'unavailable',
  'source_unreadable',
  'storage_full',
]

const SINGLE: readonly Code[] = CODES.filter((code) => !NOT_SINGLE.includes(code))

function codesAt(route: Route): readonly Code[] {
  if (route.serves === 'calls') return route.type === 'batch' ? BATCH : SINGLE
  if (route.serves === 'metrics') return [...ANYWHERE, 'too_many_chunks', 'unavailable']
  // a pixel is always sent, and a probe answers in text
  return route.serves === 'pixel' || route.serves === 'probe' ? BROKEN : ANYWHERE
}
