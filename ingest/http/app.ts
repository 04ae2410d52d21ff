import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAmbiguous } from '../../http/framing.ts'
import { errorAnswer, PREFLIGHT } from '../answer.ts'
import { HELD_BYTES, PATIENCE, type Patience } from '../limits.ts'
import type { Meter } from '../meter/metrics.ts'
import { consume, dropped } from './body.ts'
import { handlerOf, type Parts } from './handlers.ts'
import { createHold } from './hold.ts'
import { sendPixel } from './pixel.ts'
import { createRespond, forgetHeaders, isUnread, type Respond } from './reply.ts'
import { allowed, isPixel, methodOf, PIXEL_PATH, ROUTES } from './routes.ts'
import { createServer } from './server.ts'
import { timed } from './timed.ts'

export type AppOptions = Pick<Parts, 'take' | 'forestall' | 'strangers' | 'probe' | 'log' | 'tracer'> & {
  meter: Meter
  patience?: Partial<Patience>
  /** Bounds: bytes that requests hold at once, and open connections. */
  heldBytes?: number
  connections?: number
  /** CIDRs of load balancers: of what comes from them the client's address is in X-Forwarded-For. */
  trustProxy?: readonly string[]
}

/** The HTTP side of ingest, built without listening. Every answer is coded JSON, and one that browsers may read. */
export function createApp({ heldBytes = HELD_BYTES, connections, ...options }: AppOptions): FastifyInstance {
  const { meter, log } = options
  const patience = { ...PATIENCE, ...options.patience }
  const hold = createHold(heldBytes)
  meter.watchHold(hold)
  const respond = createRespond({ answered: meter.answered, lingerMs: patience.lingerMs })
  const notFound = createNotFound(respond)
  const app = createServer({ patience, meter, connections, notFound, trustProxy: options.trustProxy })
  app.setNotFoundHandler(notFound)
  app.setErrorHandler<FastifyError>((err, _request, reply) => failed(err, reply))
  app.addHook('onRequest', ({ raw: request, is404 }, reply, done) => {
    if (isAmbiguous(request)) respond(reply, errorAnswer('bad_request'))
    else if (request.method === 'POST' || is404 || !isUnread(request)) done()
    // a body where none belongs: left unread, it would reset the connection
    else
      consume({ request, response: reply.raw }, dropped, (end) =>
        end === 'end' ? done() : end !== 'gone' && respond(reply, errorAnswer(end)),
      )
  })
  addRoutes(app, { ...options, take: timed(options.take, meter), hold, respond })
  return app

  function failed(err: unknown, reply: FastifyReply): void {
    log.error({ err }, 'a request has failed')
    respond(reply, errorAnswer('internal_error'))
  }
}

function addRoutes(app: FastifyInstance, parts: Parts): void {
  app.options('*', ({ raw }, reply) => {
    forgetHeaders(raw)
    reply.code(204).headers(PREFLIGHT).send()
  })
  // looked at, a pixel carries no call
  app.head(PIXEL_PATH.replace('{type}', ':type'), (_request, reply) => sendPixel(reply))
  for (const route of ROUTES) {
    const handle = handlerOf(route, parts)
    app.route({
      method: methodOf(route),
      url: route.path.replace('{type}', ':type'),
      // not the promise itself: Fastify would watch each response for its end
      handler: (request, reply) => void handle(request, reply).catch((error) => reply.send(error)),
    })
  }
}

function createNotFound(respond: Respond) {
  return ({ url, method }: FastifyRequest, reply: FastifyReply): void => {
    const path = url.split('?', 1)[0] ?? url
    const allow = allowed(path)
    // its type is none that can be read
    if (isPixel(path) && method === 'GET') sendPixel(reply)
    else respond(reply, allow ? errorAnswer('method_not_allowed', { allow }) : errorAnswer('not_found'))
  }
}
