import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answerOps, type Probe } from '../../http/probes.ts'
import { isAmbiguous } from '../../http/requests.ts'
import { limitUnread } from '../../http/unread.ts'
import type { Logger } from '../../process/log.ts'
import type { Tracer } from '../../trace/trace.ts'
import { type Answer, CORS, type Code, errorAnswer, PREFLIGHT } from '../answer.ts'
import { HELD_BYTES, TIMEOUTS, type Timeouts, UNREAD_BYTES } from '../limits.ts'
import type { Meter } from '../metrics.ts'
import { describe } from '../openapi.ts'
import type { Ingest } from '../pipeline.ts'
import { createMemoryLimit, discardBody } from './body.ts'
import {
  type Handler,
  ingestPixel,
  type ReceiveOptions,
  receive,
  receiveMetrics,
  sendPixel,
} from './receive.ts'
import { createRespond, forgetHeaders, isUnread, type Respond } from './reply.ts'
import { allowed, methodOf, PIXEL_PATH, ROUTES, type Route } from './routes.ts'
import { createServer, type ServerOptions } from './server.ts'

export type AppOptions = Pick<
  Parts,
  'ingest' | 'precheck' | 'countUnpacked' | 'countRefused' | 'probe' | 'log' | 'tracer'
> & {
  meter: Meter
  timeouts?: Partial<Timeouts>
  heldBytes?: number
  unreadBytes?: number
  connections?: number
  waiting?: ServerOptions['waiting']
  /** CIDRs of load balancers, whose X-Forwarded-For names the client. */
  trustProxy?: readonly string[]
}

/** Not listening yet. Browsers can read every answer. */
export function createApp({
  heldBytes = HELD_BYTES,
  unreadBytes = UNREAD_BYTES,
  connections,
  waiting,
  ...options
}: AppOptions): FastifyInstance {
  const { meter, log } = options
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const memory = createMemoryLimit(heldBytes)
  meter.watchMemory(memory)
  const countUnread = limitUnread(unreadBytes, meter.refusedConnection)
  const respond = createRespond({ answered: meter.answered, countUnread, lingerMs: timeouts.lingerMs })
  const { trustProxy } = options
  const app = createServer({ timeouts, meter, connections, waiting, trustProxy })
  app.setNotFoundHandler(createNotFound(respond))
  app.setErrorHandler<FastifyError>((err, _request, reply) => failed(err, reply))
  app.addHook('onRequest', (received, reply, done) => {
    const { raw: request, is404 } = received
    // Node still emits requests that it read before the connection was closed
    if (request.socket.destroyed) reply.hijack()
    else if (isAmbiguous(request)) refuseAmbiguous(reply, respond)
    else if (request.method === 'POST' || is404 || !isUnread(request)) done()
    // an unexpected body, left unread, would reset the connection
    else
      discardBody({ request, response: reply.raw }, memory.open(received.ip), (end) =>
        end === 'end' ? done() : end !== 'gone' && respond(reply, errorAnswer(end)),
      )
  })
  addRoutes(app, { ...options, ingest: timed(options.ingest, meter), memory, respond })
  return app

  function failed(err: unknown, reply: FastifyReply): void {
    log.error({ err }, 'a request failed')
    respond(reply, errorAnswer('internal_error'))
  }
}

function refuseAmbiguous(reply: FastifyReply, respond: Respond): void {
  reply.header('connection', 'close')
  respond(reply, errorAnswer('bad_request'))
}

function addRoutes(app: FastifyInstance, parts: Parts): void {
  app.options('*', ({ raw }, reply) => {
    forgetHeaders(raw)
    reply.code(204).headers(PREFLIGHT).send()
  })
  // a HEAD for a pixel carries no call
  app.head(PIXEL_PATH.replace('{type}', ':type'), (_request, reply) => sendPixel(reply))
  for (const route of ROUTES) {
    const handle = handlerOf(route, parts)
    app.route({
      method: methodOf(route),
      url: route.path.replace('{type}', ':type'),
      // returns no promise, as Fastify would then watch each response for its end
      handler: (request, reply) => void handle(request, reply).catch((error) => reply.send(error)),
    })
  }
}

function createNotFound(respond: Respond) {
  return ({ url }: FastifyRequest, reply: FastifyReply): void => {
    const path = url.split('?', 1)[0] ?? url
    const allow = allowed(path)
    respond(reply, allow ? errorAnswer('method_not_allowed', { allow }) : errorAnswer('not_found'))
  }
}

export type Parts = Omit<ReceiveOptions, 'traced'> & {
  meter: Pick<Meter, 'answered'>
  probe: Probe
  log: Pick<Logger, 'error'>
  tracer?: Pick<Tracer, 'request'> | undefined
}

const DESCRIBED: Answer = { code: 'ok', status: 200, body: JSON.stringify(describe()) }

function handlerOf(route: Route, parts: Parts): Handler {
  switch (route.serves) {
    case 'calls':
      return receive(route.type, { ...parts, traced: tracedAt(route, parts) })
    case 'metrics':
      return receiveMetrics(parts)
    case 'pixel':
      return receivePixel({ ...parts, traced: tracedAt(route, parts) })
    case 'probe':
      return (_request, reply) => answerProbe(route.path, parts.probe, reply)
    case 'description':
      return async (_request, reply) => parts.respond(reply, DESCRIBED)
  }
}

function tracedAt(route: Route, { tracer }: Parts): ReceiveOptions['traced'] {
  const at = { method: methodOf(route), route: route.path }
  return tracer && (({ headers }) => tracer.request({ ...at, traceparent: headers.traceparent }))
}

function receivePixel({ log, traced, ...parts }: Parts & Pick<ReceiveOptions, 'traced'>): Handler {
  return async (request, reply) => {
    using trace = traced?.(request)
    const code = await ingestPixel(request, parts, trace).catch((err): Code => {
      log.error({ err }, 'a request failed')
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

function timed(ingest: Ingest, meter: Pick<Meter, 'began' | 'ended'>): Ingest {
  // not async, which would keep the request's body in memory
  return (received, ip, trace) => {
    const { type } = received
    const start = performance.now()
    const ended = () => meter.ended(type, (performance.now() - start) / 1000)
    meter.began()
    try {
      return ingest(received, ip, trace).finally(ended)
    } catch (error) {
      ended()
      throw error
    }
  }
}
