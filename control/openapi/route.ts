import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { operation } from '../http/operation.ts'
import { path } from '../http/serve.ts'
import { describe, type Placed } from './document.ts'

/** Collects what all paths are given from now on. */
export function collectOperations(app: FastifyInstance): readonly Placed[] {
  const placed: Placed[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    // HEAD comes with GET
    if (config?.operation && typeof method === 'string' && method !== 'HEAD')
      placed.push({ method, url, operation: config.operation })
  })
  return placed
}

const documentShape = z.looseObject({ openapi: z.string() })

/** `/openapi.json`: all of the API. It holds no secret, and is open to anyone. */
export function openapiRoute(api: FastifyInstance, operations: readonly Placed[]): void {
  let document: object | undefined
  path(api, '/openapi.json', {
    GET: operation({
      summary: 'This description',
      access: 'anyone',
      answers: { 200: { description: 'OpenAPI 3.1.', body: documentShape } },
      handle() {
        document ??= describe(operations)
        return { status: 200, body: document }
      },
    }),
  })
}
