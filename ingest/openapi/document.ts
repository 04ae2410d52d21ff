import { type Code, refusal, statusOf } from '../codes.ts'
import { methodOf, ROUTES, type Route } from '../http/routes.ts'
import { BATCH_BYTES, BATCH_CALLS, CALL_BYTES, CALL_LEVELS } from '../limits.ts'
import { codesAt } from './codes.ts'
import { bodyOf, SCHEMAS } from './schemas.ts'

/** The HTTP API as OpenAPI 3.1, made of the tables that ingest itself works by: routes, codes and limits. */
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

const ABOUT = `Calls of the Segment family. Bodies are JSON whatever their Content-Type, with Content-Encoding gzip or none.
Limits, of the inflated body: ${CALL_BYTES} bytes a call, ${BATCH_BYTES} bytes and ${BATCH_CALLS} calls a batch, ${CALL_LEVELS} levels of nesting.
Each path may end with a slash. Every answer may be read by browsers of any origin.`

const LICENSE = { name: 'Apache-2.0', identifier: 'Apache-2.0' }

/** Write keys may also be in the body, which OpenAPI has no word for: hence the empty alternative. */
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
        success: json('Kafka has what is accepted.', isBatch ? 'BatchTaken' : 'Taken'),
      }
    }
    case 'metrics':
      return { summary: "A client library's own metrics, which are dropped", success: json('Read.', 'Taken') }
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

const TEXT = { description: 'It does.', content: { 'text/plain': {} } }
const NOT_READY = { description: 'It should not; the text says why.', content: { 'text/plain': {} } }
const IMAGE = {
  description: 'A pixel of 1 x 1, whatever comes of the call.',
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

/** By status, each with the codes that it may have. */
function refusals(codes: readonly Code[]) {
  const byStatus = Object.groupBy(codes, statusOf)
  return Object.fromEntries(Object.entries(byStatus).map(([status, its = []]) => [status, refused(its)]))
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
