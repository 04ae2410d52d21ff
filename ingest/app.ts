import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify'
import { answerOps, type Probe } from '../metrics.ts'
import { CORS, errorAnswer, PREFLIGHT } from './answer.ts'
import { fail, ignoreContentType, type ReceiveOptions, receive } from './receive.ts'
import { answerBrokenRequest, send } from './reply.ts'
import { allowed, probes, routes } from './routes.ts'

export type AppOptions = ReceiveOptions & { probe: Probe }

/** The HTTP side of ingest, built without listening. Every answer is coded JSON, and one that browsers may read. */
export function createApp({ probe, ...options }: AppOptions): FastifyInstance {
  const app = fastify({
    routerOptions: { ignoreTrailingSlash: true },
    // what comes on an open connection while this process ends is still taken
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (_error, _request, reply) => void send(reply, errorAnswer('not_found')),
  })
  app.addHook('onRequest', ignoreContentType)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler(notFound)
  app.setErrorHandler<FastifyError>((error, _request, reply) => fail({ error, reply, log: options.log }))
  app.options('*', (_request, reply) => reply.code(204).headers(PREFLIGHT).send())
  for (const path of probes) app.get(path, (_request, reply) => answerProbe(path, probe, reply))
  for (const [path, type] of routes) app.post(path, receive(type, options))
  return app
}

function notFound({ url }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const allow = allowed(url.split('?', 1)[0] ?? url)
  return send(reply, allow ? errorAnswer('method_not_allowed', { allow }) : errorAnswer('not_found'))
}

async function answerProbe(path: string, probe: Probe, reply: FastifyReply): Promise<FastifyReply> {
  const { status, type, body } = await answerOps(path, probe)
  return reply.code(status).type(type).headers(CORS).send(body)
}
