import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { CODES, type Code, statusOf } from '../../../settings/error-codes.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { type Document, documentOf, expectDescribed, type Operation } from '../described.ts'
import { shop } from '../in-memory.ts'

const BESIDE = [
  '/unreadable-path',
  ...['/livez', '/readyz', '/metrics'],
  ...['/docs', '/docs*', '/docs/api', '/docs/api/'],
  ...['/docs/api/start.js', '/docs/api/swagger-ui.css', '/docs/api/swagger-ui-bundle.js'],
  // the console
  ...['/', '/assets/:name', '/licenses'],
]

const served = () => documentOf(api().app)

const operations = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  )
/** Streams never end: their tests send invalid queries. */
const at = (path: string) => path.replace('{id}', 'nothing') + (path.endsWith('/stream') ? '?asked=no' : '')

/** As `status code`. */
const refusals = ({ responses }: Operation) =>
  Object.entries(responses).flatMap(([status, response]) =>
    codesOf(response).map((code) => `${status} ${code}`),
  )

function codesOf({ content }: Operation['responses'][string]): Code[] {
  const { schema = {} } = content?.['application/json'] ?? {}
  // as the description has it
  const { allOf } = schema as { allOf?: { properties?: { code: { enum: Code[] } } }[] }
  return allOf?.[1]?.properties?.code.enum ?? []
}

/** Fastify prints routes as a tree: a branch has only the rest of its path. */
async function routed(app: FastifyInstance): Promise<string[]> {
  await app.ready()
  const above: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, indent = '', piece = ''] = /^([│├└─ ]*)(\S*)/.exec(line) ?? []
      above.splice(indent.length / 4 - 1, above.length, piece)
      return above.join('').replace(':id', '{id}')
    })
}

test('is OpenAPI 3.1, and open to anyone', async () => {
  const { status, json: document } = await api().ask({ url: '/api/openapi.json', token: '' })
  expect(status).toBe(200)
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\./)
})

test('has exactly the paths that exist', async () => {
  const { app } = api()
  expect((await routed(app)).sort()).toEqual([...Object.keys((await served()).paths), ...BESIDE].sort())
})

test('has exactly the methods that a path supports', async () => {
  const { app, ask } = api()
  const document = await served()
  // /destinations/preview leaves other methods to /destinations/{id}
  const methodsAt = (path: string) =>
    Object.entries(document.paths).flatMap(([template, methods]) =>
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path) ? Object.keys(methods) : [],
    )
  for (const path of Object.keys(document.paths)) {
    const taken: string[] = []
    for (const method of app.supportedMethods)
      if ((await ask({ method, url: at(path) })).status !== 405) taken.push(method.toLowerCase())
    // HEAD comes with GET
    expect(taken.filter((method) => method !== 'head').sort(), path).toEqual(methodsAt(path).sort())
  }
})

test('says who may call each operation', async () => {
  const { ask } = api()
  for (const { method, path, operation } of operations(await served())) {
    const asked = { method, url: at(path) }
    const [nobody, viewer] = [await ask({ ...asked, token: '' }), await ask({ ...asked, token: VIEW })]
    const isOpen = operation.security?.length === 0
    // does not apply to signing in
    if (path !== '/api/session') expect(nobody.status === 401, `${method} ${path}`).toBe(!isOpen)
    expect(viewer.status === 403, `${method} ${path}`).toBe(refusals(operation).includes('403 read_only'))
  }
})

test('each code stands under its status, and none is left out', async () => {
  const document = await served()
  const elsewhere = Object.values(document.components.responses).flatMap(codesOf)
  const seen = new Set([
    ...operations(document).flatMap(({ operation }) => refusals(operation)),
    ...elsewhere.map((code) => `${statusOf(code)} ${code}`),
  ])
  expect([...seen].sort()).toEqual(CODES.map((code) => `${statusOf(code)} ${code}`).sort())
})

test('each 503 says when to try again', async () => {
  const withoutTime = operations(await served()).flatMap(({ method, path, operation }) => {
    const headers = Object.keys(operation.responses[503]?.headers ?? {})
    return operation.responses[503] && !headers.includes('retry-after') ? [`${method} ${path}`] : []
  })
  expect(withoutTime).toEqual([])
})

test('only replacements of settings with secrets mention them', async () => {
  const described = operations(await served()).filter(({ operation }) =>
    operation.description?.includes('***'),
  )
  expect(described.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'PUT /api/destinations/{id}',
    'PUT /api/sources/{id}',
  ])
})

test('names every operation differently', async () => {
  const ids = operations(await served()).map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toContain('put_sources_id')
})

test('required fields, limits and defaults are described', async () => {
  const { components, paths } = await served()
  expect(components.schemas.NewDestination).toMatchObject({
    required: ['name', 'webhooks'],
    additionalProperties: false,
    properties: {
      enabled: { default: true },
      webhooks: { maxItems: 5, items: { properties: { headers: { maxProperties: 5 } } } },
    },
  })
  expect(paths['/api/sources/{id}']?.put?.parameters).toMatchObject([
    { name: 'id', in: 'path', required: true },
    { name: 'dryRun', in: 'query', required: false },
    { name: 'if-match', in: 'header', required: true },
  ])
  expect(paths['/api/dead']?.get?.parameters).toContainEqual(
    expect.objectContaining({
      name: 'limit',
      schema: expect.objectContaining({ maximum: 100, default: 50 }),
    }),
  )
})

test('a URL that the API accepts matches the description too, even if it violates RFC 3986', async () => {
  const { ask, app } = api()
  const webhooks = [{ url: 'https://b.example/{x}|{y}?q=[1]' }, { url: 'HTTPS://ünï.example/ä b' }]
  // its response is checked against the description
  const made = await ask({ method: 'POST', url: '/api/destinations', body: { name: 'B', webhooks } })
  expect(made).toMatchObject({ status: 201, json: { webhooks } })
  const { components } = await documentOf(app)
  const isDescribed = new Ajv2020({ strict: false, formats: fullFormats }).compile({
    $ref: '#/components/schemas/NewDestination',
    components,
  })
  expect([isDescribed({ name: 'B', webhooks }), isDescribed.errors]).toEqual([true, null])
})

/** As `schema.property`. */
function propertiesOf(name: string, schema: Described): [string, Described][] {
  const within = [schema, ...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])]
  return within.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([key, property]): [string, Described][] => [
      [`${name}.${key}`, property],
      ...propertiesOf(`${name}.${key}`, property),
    ]),
  )
}
type Described = {
  description?: string
  properties?: Record<string, Described>
  items?: Described
  anyOf?: Described[]
}

test('describes rules of settings that JSON Schema cannot express', async () => {
  const { components } = await served()
  const described = Object.entries(components.schemas)
    .flatMap(([name, schema]) => propertiesOf(name, schema))
    .filter(([, { description }]) => description)
    .map(([name]) => name)
  expect(described).toEqual(
    expect.arrayContaining([
      'NewDestination.id',
      'NewDestination.enabled',
      'NewDestination.webhooks.url',
      'NewDestination.webhooks.headers',
      'NewDestination.previousSecretExpiresAt',
      'DestinationReplacement.version',
      'Destination.version',
      'DestinationDraft.changed',
      'NewSource.writeKey',
      'Audience.key',
      'Audience.lastSyncAt',
      'Deletion.deletes',
      'Sync.unchanged',
      'Replay.replayed',
      'NewReplay.perSecond',
      'Attempt.response',
    ]),
  )
})

describe('the tests of all paths use it: they reject a response', () => {
  const source = '/api/sources/shop'
  const answer = async (url: string) => {
    const { app } = api({ sources: [shop] })
    const given = await app.inject({ url, headers: { authorization: `Bearer ${ADMIN}` } })
    return { app, method: 'GET', url, status: given.statusCode, headers: given.headers, text: given.body }
  }

  test('with a status that is not described', async () => {
    const { app, ...given } = await answer(source)
    await expect(expectDescribed(app, { ...given, status: 418 })).rejects.toThrow('418')
  })

  test('with an undescribed field, or without a described one', async () => {
    const { app, text, ...rest } = await answer(source)
    const { name: _, ...fields } = JSON.parse(text)
    for (const body of [fields, { ...JSON.parse(text), colour: 'red' }])
      await expect(expectDescribed(app, { ...rest, text: JSON.stringify(body) })).rejects.toThrow(
        'not as described',
      )
  })

  test('with a code of another path', async () => {
    const { app, ...refused } = await answer('/api/sources/none')
    await expectDescribed(app, refused)
    const text = refused.text.replace('not_found', 'sync_running')
    await expect(expectDescribed(app, { ...refused, text })).rejects.toThrow('not as described')
  })

  test('without a header that clients rely on', async () => {
    const { app, headers, ...rest } = await answer(source)
    const { etag: _, ...others } = headers
    await expect(expectDescribed(app, { ...rest, headers: others })).rejects.toThrow('etag')
  })
})

const { origin } = new URL('http://control.example')

test('the description is a page that is open to anyone, and loads nothing from another host', async () => {
  const { ask } = api()
  const { status, headers, text } = await ask({ url: '/docs/api/', token: '' })
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  // what a policy might also allow
  expect(policy).not.toMatch(/https?:|\*|unsafe/)
  const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url)
  expect(loaded).toContain('/docs/api/swagger-ui-bundle.js')
  for (const url of loaded.filter((each) => each !== 'data:,')) {
    expect(new URL(url, origin).origin).toBe(origin)
    const file = await ask({ url, token: '' })
    expect([file.status, file.headers['x-content-type-options']]).toEqual([200, 'nosniff'])
    expect(file.headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/)
    expect(file.text.length).toBeGreaterThan(100)
  }
})

test.each(['/docs/api/swagger-ui-bundle.js', '/api/openapi.json'])(
  '%s is built once: all clients share its bytes, and those who have it get 304',
  async (url) => {
    const { app } = api()
    const sent: unknown[] = []
    app.addHook('onSend', async (_request, _reply, payload) => void sent.push(payload))
    const got = await app.inject({ url })
    const again = await app.inject({ url })
    expect(sent[0]).toBeInstanceOf(Buffer)
    expect(sent[1]).toBe(sent[0])
    expect(again.body).toBe(got.body)
    const bytes = String(got.rawPayload.length)
    expect(got.headers).toMatchObject({ 'content-length': bytes, 'cache-control': 'no-cache' })
    const head = await app.inject({ method: 'HEAD', url })
    expect([head.statusCode, head.headers['content-length'], head.body]).toEqual([200, bytes, ''])
    const tag = String(got.headers.etag)
    for (const known of [tag, `W/${tag}, "other"`]) {
      const unchanged = await app.inject({ url, headers: { 'if-none-match': known } })
      expect([unchanged.statusCode, unchanged.body, unchanged.headers.etag]).toEqual([304, '', tag])
    }
    expect((await app.inject({ url, headers: { 'if-none-match': '"other"' } })).statusCode).toBe(200)
  },
)

test('the page shows what the API serves', async () => {
  const { ask } = api()
  const { text } = await ask({ url: '/docs/api/start.js', token: '' })
  const [, url = ''] = /url: '([^']+)'/.exec(text) ?? []
  expect(await ask({ url, token: '' })).toMatchObject({ status: 200, json: { openapi: '3.1.0' } })
})
