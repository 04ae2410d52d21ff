import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'

type Response = {
  headers?: Record<string, { required: boolean }>
  content?: Record<string, { schema: object }>
}
export type Operation = {
  operationId: string
  description?: string
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { required: boolean; content: Record<string, { schema: object }> }
  security?: unknown[]
  responses: Record<string, Response>
}
export type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; responses: Record<string, Response> }
}

/** All apps have the same paths. */
let known: Promise<Document> | undefined

export function documentOf(app: FastifyInstance): Promise<Document> {
  known ??= app.inject('/api/openapi.json').then((answer) => answer.json())
  return known
}

export type Answered = {
  method: string
  url: string
  status: number
  headers: Record<string, unknown>
  text: string
}

/** The response must match in status, headers, type and shape. */
export async function expectDescribed(app: FastifyInstance, answer: Answered): Promise<void> {
  const { method, url, status } = answer
  const [path = ''] = url.split('?')
  if (!path.startsWith('/api')) return
  const document = await documentOf(app)
  const name = `${method} ${url}: ${status}`
  const response = responseTo({ ...answer, path }, document)
  expect(response, `${name} is described`).toBeDefined()
  for (const [header, { required }] of Object.entries(response?.headers ?? {}))
    if (required) expect(answer.headers, name).toHaveProperty([header])
  expectContent(name, { answer, response, document })
}

function responseTo(
  { method, path, status }: Answered & { path: string },
  { paths, components }: Document,
): Response | undefined {
  const found = Object.entries(paths).filter(([template]) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  // a path without a parameter may leave methods to a path with one
  const [operation] = found.flatMap(([, of]) => of[method === 'HEAD' ? 'get' : method.toLowerCase()] ?? [])
  if (operation) return operation.responses[status]
  // authentication comes before path and method
  if ([401, 403, 429, 503].includes(status)) return paths['/api/sources']?.post?.responses[status]
  if (status === 405) return components.responses.OtherMethod
  return status === 404 ? components.responses.Elsewhere : paths['/api/sources/{id}']?.get?.responses[status]
}

type Content = { answer: Answered; response: Response | undefined; document: Document }

function expectContent(name: string, { answer, response, document }: Content): void {
  const [type = ''] = String(answer.headers['content-type'] ?? '').split(';')
  if (answer.text === '' || answer.method === 'HEAD') return
  const schema = response?.content?.[type]?.schema
  expect(schema, `${name} may be ${type}`).toBeDefined()
  if (type !== 'application/json' || !schema) return
  const validate = compiled(schema, document)
  if (!validate(JSON.parse(answer.text)))
    expect.fail(`${name} is not as described: ${JSON.stringify(validate.errors)}\n${answer.text}`)
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
const validators = new WeakMap<object, ReturnType<typeof ajv.compile>>()

function compiled(schema: object, { components }: Document) {
  if (!ajv.getSchema('document')) ajv.addSchema({ $id: 'document', components })
  const found = validators.get(schema) ?? ajv.compile(atDocument(schema))
  validators.set(schema, found)
  return found
}

const atDocument = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'))
