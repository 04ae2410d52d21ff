import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter } from 'prom-client'
import { endInTime, shareConnections } from '../../http/connections.ts'
import { registry } from '../../process/metrics.ts'
import { isStreamed } from './operation.ts'

/** What clients may take of this process, nearly all of it before they have shown a token. Times in milliseconds. */
export type ServerLimits = {
  /** Open ones; above them the network with the most gives one up. */
  connections: number
  headersMs: number
  /** For a whole request. */
  requestMs: number
  /** For one of an upload, whose sender is known. */
  uploadMs: number
  /** How often Node looks. */
  checkMs: number
  /** For what is under way when the process ends. */
  closingMs: number
}

export const SERVER_LIMITS: ServerLimits = {
  // a browser has six: some hundred operators at once. With all that may wait on each, 16 KB of headers and 4 KB of a body, 40 MB
  connections: 1_000,
  headersMs: 15_000,
  // 1 MB at 35 KB a second
  requestMs: 30_000,
  // millions of lines over a slow line
  uploadMs: 30 * 60_000,
  checkMs: 1_000,
  // of the 15 s that all has to be closed in (lifecycle.ts)
  closingMs: 5_000,
}

/** What Node takes for a server. Of its times for requests there is one for all routes: the longest. */
export const serverOptions = ({ headersMs, uploadMs, checkMs }: ServerLimits) => ({
  requestTimeout: uploadMs,
  http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs },
})

/** Bounds connections, and the time of each request that is no upload. To be called before any route is added. */
export function limitServer(
  app: FastifyInstance,
  { connections, requestMs, closingMs }: ServerLimits,
  trustProxy: readonly string[],
): void {
  const waiting = new WeakMap<IncomingMessage, NodeJS.Timeout>()
  const stop = (request: IncomingMessage) => clearTimeout(waiting.get(request))
  shareConnections(app.server, { most: connections, trustProxy, onRefused: countRefusedConnection })
  app.addHook('onRequest', async ({ raw }, reply) => {
    const timer = setTimeout(() => {
      if (raw.complete) return
      // its answer is on its way, and it goes on sending
      if (reply.raw.headersSent) raw.socket.destroy()
      else app.server.emit('clientError', late(), raw.socket)
    }, requestMs).unref()
    waiting.set(raw, timer)
  })
  // behind the guard: who gets here may upload
  app.addHook('preParsing', async ({ raw, routeOptions }) => {
    if (isStreamed(routeOptions.config.operation)) stop(raw)
  })
  app.addHook('onResponse', async ({ raw }) => stop(raw))
  drainBody(app, requestMs)
  endInTime(app, closingMs)
}

const late = () => Object.assign(new Error('the request is not whole'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/**
 * What still comes of a body that has its answer is read and dropped, or the next request of its connection would wait behind it. Node
 * does so only with a body that nobody has begun to read. Who has not ended it in `mostMs` is let go.
 */
export function drainBody(app: FastifyInstance, mostMs: number): void {
  app.addHook('onResponse', async ({ raw }) => {
    raw.resume()
    const { socket } = raw
    if (raw.complete !== false || socket.destroyed) return
    const timer = setTimeout(() => socket.destroy(), mostMs).unref()
    function over(): void {
      clearTimeout(timer)
      socket.off('close', over)
    }
    raw.once('end', over)
    // once it is answered, a request is not told when its socket goes
    socket.once('close', over)
  })
}

const refusedConnections = new Counter({
  name: 'sluice_control_connections_refused_total',
  help: 'Connections closed because too many were open.',
  registers: [registry],
})

const countRefusedConnection = () => refusedConnections.inc()
