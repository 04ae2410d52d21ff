import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAmbiguous } from '../../http/requests.ts'
import type { Logger } from '../../process/log.ts'
import { answerOps, type Probe } from '../../process/metrics.ts'
import type { Tracer } from '../../trace/trace.ts'
import { type Answer, CORS, type Code, errorAnswer, PREFLIGHT } from '../answer.ts'
import { HELD_BYTES, PATIENCE, type Patience } from '../limits.ts'
import type { Meter } from '../metrics.ts'
import { describe } from '../openapi.ts'
import type { Take } from '../take.ts'
import { consume, createHold, dropped } from './body.ts'
import {
  type Handler,
  type ReceiveOptions,
  receive,
  receiveMetrics,
  sendPixel,
  takePixel,
} from './receive.ts'
import { createRespond, forgetHeaders, isUnread, type Respond } from './reply.ts'
import { allowed, isPixel, methodOf, PIXEL_PATH, ROUTES, type Route } from './routes.ts'
import { createServer } from './server.ts'

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

/** What the handlers are made of. */
export type Parts = Omit<ReceiveOptions, 'traced'> & {
  meter: Pick<Meter, 'refused' | 'answered'>
  probe: Probe
  log: Pick<Logger, 'error'>
  tracer?: Pick<Tracer, 'request'> | undefined
}

const DESCRIBED: Answer = { code: 'ok', status: 200, body: JSON.stringify(describe()) }

/** What is done at a route. */
export function handlerOf(route: Route, parts: Parts): Handler {
  switch (route.serves) {
    case 'calls':
      return receive(route.type, { ...parts, traced: tracedAt(route, parts) })
    case 'metrics':
      return receiveMetrics(parts.respond)
    case 'pixel':
      return receivePixel({ ...parts, traced: tracedAt(route, parts) })
    case 'probe':
      return (_request, reply) => answerProbe(route.path, parts.probe, reply)
    case 'description':
      return async (_request, reply) => parts.respond(reply, DESCRIBED)
  }
}

/** Requests that may bring calls have traces; others would only hide these. */
function tracedAt(route: Route, { tracer }: Parts): ReceiveOptions['traced'] {
  const at = { method: methodOf(route), route: route.path }
  return tracer && (({ headers }) => tracer.request({ ...at, traceparent: headers.traceparent }))
}

/** The page that shows the image gets one, whatever comes of the call in it. */
function receivePixel({ log, traced, ...parts }: Parts & Pick<ReceiveOptions, 'traced'>): Handler {
  return async (request, reply) => {
    using trace = traced?.(request)
    const code = await takePixel(request, parts, trace).catch((err): Code => {
      log.error({ err }, 'a request has failed')
      return 'internal_error'
    })
    trace?.answered({ code, status: 200 })
    parts.meter.answered(code)
    sendPixel(reply)
  }
}

async function answerProbe(path: string, probe: Probe, reply: FastifyReply): Promise<void> {
  const { status, type, body } = await answerOps(path, probe)
  forgetHeaders(reply.request.raw)
  reply.code(status).type(type).headers(CORS).send(body)
}

/** `take`, with what it takes: requests under way, and seconds. */
export function timed(take: Take, meter: Pick<Meter, 'began' | 'ended'>): Take {
  // no async function, which would hold the request's body for as long as it waits
  return (received, ip, trace) => {
    const { type } = received
    const start = performance.now()
    const ended = () => meter.ended(type, (performance.now() - start) / 1000)
    meter.began()
    try {
      return take(received, ip, trace).finally(ended)
    } catch (error) {
      ended()
      throw error
    }
  }
}
