import type { FastifyReply } from 'fastify'
import type { Logger } from '../../log.ts'
import { answerOps, type Probe } from '../../metrics.ts'
import type { Tracer } from '../../trace/trace.ts'
import { type Answer, CORS } from '../answer.ts'
import type { Code } from '../codes.ts'
import type { Meter } from '../meter/metrics.ts'
import { describe } from '../openapi/document.ts'
import { sendPixel, takePixel } from './pixel.ts'
import { type Handler, type ReceiveOptions, receive, receiveMetrics } from './receive.ts'
import { forgetHeaders } from './reply.ts'
import { methodOf, type Route } from './routes.ts'

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
