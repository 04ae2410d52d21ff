import fastify, { type FastifyInstance } from 'fastify'
import { answerOps, type Probe } from '../metrics.ts'
import type { Tokens, Who } from './auth.ts'
import { destinations } from './destinations.ts'
import { guard } from './guard.ts'
import { send } from './http.ts'
import { answerBrokenRequest, errorAnswerer, notFound } from './http-errors.ts'
import { nounRoutes, type RouteParts } from './routes.ts'
import { sources } from './sources.ts'
import { suppressions } from './suppressions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    who: Who
  }
}

export type AppParts = RouteParts & {
  tokens: Tokens
  /** Not ready: neither is the API. */
  probe: Probe
}

const BODY_LIMIT = 1024 * 1024
const RECEIVE_MS = 30_000

/** The control API, not listening yet. */
export function createApp(parts: AppParts): FastifyInstance {
  const answerError = errorAnswerer(parts.log)
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: RECEIVE_MS,
    // ours to answer in our own shape; the connection is closed after it
    return503OnClosing: false,
    frameworkErrors: answerError,
    clientErrorHandler: answerBrokenRequest,
  })
  app.decorateRequest('who', 'view')
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((_, reply) => send(reply, notFound))
  takeOnlyJson(app)
  for (const url of ['/livez', '/readyz', '/metrics'])
    app.get(url, async (_, reply) => {
      const { status, type, body } = await answerOps(url, parts.probe)
      return reply.code(status).type(type).send(body)
    })
  app.register(async (api) => apiRoutes(api, parts), { prefix: '/api' })
  return app
}

function apiRoutes(api: FastifyInstance, parts: AppParts): void {
  guard(api, parts)
  // unknown paths ask for the token as well
  api.setNotFoundHandler((_, reply) => send(reply, notFound))
  nounRoutes(api, sources, parts)
  nounRoutes(api, destinations, parts)
  nounRoutes(api, suppressions, parts)
}

function takeOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // many clients name the type with every request, a DELETE without a body too
    if (body === '') done(null, undefined)
    else parse(request, body, done)
  })
}
