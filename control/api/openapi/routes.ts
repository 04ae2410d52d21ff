import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { DOCS_POLICY } from '../docs.ts'
import { notFound } from '../errors.ts'
import { createFiles, typeOf } from '../files.ts'
import { addPath, operation, send } from '../operation.ts'
import { type FixedResponse, fixedResponse } from '../response.ts'
import { describe, type RoutedOperation } from './document.ts'

export function collectOperations(app: FastifyInstance): readonly RoutedOperation[] {
  const routed: RoutedOperation[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    // HEAD comes with GET
    if (config?.operation && typeof method === 'string' && method !== 'HEAD')
      routed.push({ method, url, operation: config.operation })
  })
  return routed
}

const documentShape = z.looseObject({ openapi: z.string() })

export function openapiRoute(api: FastifyInstance, operations: readonly RoutedOperation[]): void {
  let document: FixedResponse | undefined
  addPath(api, '/openapi.json', {
    GET: operation({
      summary: 'This document',
      access: 'anyone',
      responses: {
        200: { description: 'OpenAPI 3.1.', body: documentShape },
        304: { description: 'The document is the one whose `ETag` is in `If-None-Match`.' },
      },
      handle(request) {
        document ??= fixedResponse(Buffer.from(JSON.stringify(describe(operations))), {
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-cache',
        })
        return document(request)
      },
    }),
  })
}

/** Swagger UI's files come from its package, so the page loads nothing from other hosts. */
const FILES: Readonly<Record<string, string>> = {
  '/docs/api/': beside('index.html'),
  '/docs/api/start.js': beside('start.js'),
  '/docs/api/swagger-ui.css': inSwaggerUi('swagger-ui.css'),
  '/docs/api/swagger-ui-bundle.js': inSwaggerUi('swagger-ui-bundle.js'),
}

function beside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

function inSwaggerUi(name: string): string {
  return createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`)
}

/** The interactive description needs no token, but the requests made with it do. */
export function explorerRoutes(app: FastifyInstance): void {
  const files = createFiles((path) => ({
    path,
    headers: {
      'content-type': typeOf(path),
      'content-security-policy': DOCS_POLICY,
      'cache-control': 'no-cache',
    },
  }))
  for (const [url, path] of Object.entries(FILES))
    app.get(url, async (request, reply) => {
      const found = await files(path)
      return send(reply, found ? found.plain(request) : notFound)
    })
  app.get('/docs/api', async (_, reply) => reply.redirect('/docs/api/'))
}
