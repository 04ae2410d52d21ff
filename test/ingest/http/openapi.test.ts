import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { CODES, type Code, statusOf } from '../../../ingest/answer.ts'
import { ROUTES } from '../../../ingest/http/routes.ts'
import { basic, fakeIngest, post } from '../fake.ts'

type Schema = { allOf?: [unknown, { properties: { code: { enum: string[] } } }] }
type Response = { content?: { 'application/json'?: { schema?: Schema }; [type: string]: unknown } }
type Operation = {
  responses: Record<string, Response>
  requestBody?: { content: { 'application/json': { schema: Described } } }
}
type Described = {
  $ref?: string
  allOf?: Described[]
  required?: string[]
  properties?: Record<string, Described>
  items?: Described
}
type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Described> }
}

async function served(): Promise<Document> {
  const answer = await fakeIngest().app.inject('/openapi.json')
  expect(answer.headers['access-control-allow-origin']).toBe('*')
  return answer.json()
}

const operations = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
const codesOf = (response: Response | undefined) =>
  response?.content?.['application/json']?.schema?.allOf?.[1].properties.code.enum ?? []

/** Fastify prints routes as a tree: a branch has only the next part of its path. */
function routesIn(tree: string): string[] {
  const above: string[] = []
  const branches = tree.replace('(empty root node)', '').split('\n')
  return branches.flatMap((line) => {
    const [, indent = '', piece = '', methods = ''] = /^([│├└─ ]*)(\S*)(?: \(([^)]+)\))?$/.exec(line) ?? []
    above.splice(indent.length / 4 - 1, above.length, piece)
    const path = above.join('').replace(':type', '{type}')
    const own = methods.split(', ').filter((method) => method === 'GET' || method === 'POST')
    return own.map((method) => `${method} ${path}`)
  })
}

test('is OpenAPI 3.1', async () => {
  const document = await served()
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\./)
})

test('names every route and no other', async () => {
  const { app } = fakeIngest()
  await app.ready()
  const routed = routesIn(app.printRoutes())
  const described = operations(await served()).map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  expect(described.sort()).toEqual(routed.sort())
  expect(described).toHaveLength(ROUTES.length)
})

test.each([
  ['ready', undefined],
  ['not ready', 'Kafka is away'],
])('while the process is %s each route answers as described', async (_state, notReady) => {
  for (const { path, method, responses } of operations(await served())) {
    const ingest = fakeIngest()
    if (notReady) ingest.state.notReady = notReady
    const answer = await ingest.app.inject({
      method: method === 'post' ? 'POST' : 'GET',
      url: path.replace('{type}', 'track'),
      headers: { authorization: basic('shop-key') },
      ...(method === 'post' && { payload: '{}' }),
    })
    const { code } = answer.headers['content-type']?.toString().includes('json') ? answer.json() : {}
    expect(Object.keys(responses), path).toContain(String(answer.statusCode))
    const [type] = String(answer.headers['content-type']).split(';')
    expect(Object.keys(responses[answer.statusCode]?.content ?? {}), path).toContain(type)
    if (code) expect(codesOf(responses[answer.statusCode]), path).toContain(code)
  }
})

test('refused metrics of a client library conform to the description', async () => {
  const answer = await post(fakeIngest({ door: { heldBytes: 1 } }), '/v1/m', '{}')
  expect([answer.statusCode, answer.json().code]).toEqual([503, 'unavailable'])
  const responses = (await served()).paths['/v1/m']?.post?.responses ?? {}
  expect(codesOf(responses[503])).toEqual(['unavailable'])
  // strangers.test.ts shows this answer
  expect(codesOf(responses[413])).toEqual(['too_many_chunks'])
})

test('lists no answer that a route never gives', async () => {
  const { paths } = await served()
  for (const path of ['/v1/pixel/{type}', '/livez', '/readyz'])
    expect(Object.keys(paths[path]?.get?.responses ?? {}), path).not.toContain('500')
  expect(Object.keys(paths['/livez']?.get?.responses ?? {})).not.toContain('503')
})

test('describes every required field', async () => {
  const { components, paths } = await served()
  const schemaOf = ({ $ref, ...own }: Described): Described =>
    $ref ? schemaOf(components.schemas[$ref.slice('#/components/schemas/'.length)] ?? {}) : own
  const parts = (schema: Described): Described[] => {
    const it = schemaOf(schema)
    return [it, ...(it.allOf ?? []).flatMap(parts)]
  }
  const expectDescribed = (schema: Described): void => {
    const all = parts(schema)
    const fields = Object.assign({}, ...all.map(({ properties }) => properties))
    for (const field of all.flatMap(({ required = [] }) => required)) {
      expect(fields).toHaveProperty(field)
      const { items } = fields[field]
      if (items) expectDescribed(items)
    }
  }
  for (const path of ['/v1/alias', '/v1/track', '/v1/batch'])
    expectDescribed(
      paths[path]?.post?.requestBody?.content['application/json'].schema ?? { required: ['none'] },
    )
})

test('lists each code under its status, and omits none', async () => {
  const seen = new Set<string>(['not_found', 'method_not_allowed', 'unknown_type'])
  for (const { responses } of operations(await served()))
    for (const [status, response] of Object.entries(responses))
      for (const code of codesOf(response)) {
        seen.add(code)
        expect(CODES.filter((it) => statusOf(it) === Number(status))).toContain(code)
      }
  expect([...seen].sort()).toEqual([...CODES].sort())
})

const deep = `${'['.repeat(70)}${']'.repeat(70)}`
const limited = { id: 'slow', writeKey: 'slow-key', enabled: true, rateLimit: { perSecond: 1, burst: 1 } }
test.each<[Code, string | Buffer, Record<string, string>?, Parameters<typeof fakeIngest>[0]?]>([
  ['invalid_json', '{'],
  ['name_too_long', `{"batch":[5],"context":{"${'x'.repeat(10_001)}":1}}`],
  ['invalid_encoding', '{}', { 'content-encoding': 'gzip' }],
  ['unsupported_encoding', '{}', { 'content-encoding': 'br' }],
  ['unknown_source', '{}', { authorization: basic('nobody') }],
  ['source_unreadable', '{}', { authorization: basic('nobody') }, { unreadableSource: true }],
  ['source_disabled', '{}', { authorization: basic('closed-key') }],
  ['notices_only', '{}', { authorization: basic('ops-key') }],
  ['batch_not_array', '{}'],
  ['empty_batch', '{"batch":[]}'],
  ['too_deep', `{"batch":[5],"context":${deep}}`],
  ['batch_too_large', 'x'.repeat(512_001)],
  ['too_many_calls', `{"batch":[${Array(2_501).fill(0)}]}`],
  ['unavailable', '{"batch":[{"type":"track","userId":"u","event":"E"}]}', {}, { outcome: 'full' }],
  ['rate_limited', '{"batch":[5]}', { authorization: basic('slow-key') }, { sources: [limited] }],
])('a batch refused with %s conforms to the description', async (code, body, headers, options) => {
  const ingest = fakeIngest(options)
  await post(ingest, '/v1/batch', body, headers)
  const answer = await post(ingest, '/v1/batch', body, headers)
  expect(answer.json().code).toBe(code)
  const { paths } = await served()
  expect(codesOf(paths['/v1/batch']?.post?.responses[answer.statusCode])).toContain(code)
})
