import type { Operation } from '../http/operation.ts'
import { ABOUT } from './about.ts'
import { described } from './operation.ts'
import { refused } from './responses.ts'
import { createSchemas } from './schemas.ts'

/** An operation where it is: `url` as Fastify has it, with `:id`. */
export type Placed = { method: string; url: string; operation: Operation }

/** The API as OpenAPI 3.1, made of the operations that its paths were given and of the very schemas that these validate with. */
export function describe(operations: readonly Placed[]) {
  const { components, schemaOf } = createSchemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const { method, url, operation } of operations) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: described(operation, { method, path, schemaOf }) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice control', version: '1', description: ABOUT, license: LICENSE },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { session: [] }],
    paths: inOrder(paths),
    components: {
      responses: {
        Elsewhere: refused(['not_found'], schemaOf),
        OtherMethod: refused(['method_not_allowed'], schemaOf),
        NotReadable: refused(['bad_request', 'request_timeout', 'headers_too_large'], schemaOf),
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
