import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter } from 'prom-client'
import { endInTime, shareConnections } from '../../http/connections.ts'
import { registry } from '../../process/metrics.ts'
import { isStreamed } from './operation.ts'

/** What clients may use of this process, most of it before they have sent a token. Times in milliseconds. */
export type ServerLimits = {
  /** Open connections; beyond them the network with the most loses one. */
  connections: number
  /** Requests that may wait for answers on one connection. A browser sends one; each may hold a file of the console open. */
  waiting: number
  headersMs: number
  requestMs: number
  /** For an upload, whose sender is authenticated. */
  uploadMs: number
  checkMs: number
  closingMs: number
}

export const SERVER_LIMITS: ServerLimits = {
  // a browser opens six: enough for over a hundred operators. Each can hold 16 KB of headers and 4 KB of a
  // body: 40 MB in all
  connections: 1_000,
  waiting: 4,
  headersMs: 15_000,
  // 1 MB at 35 KB/s
  requestMs: 30_000,
  // millions of lines over a slow line
  uploadMs: 30 * 60_000,
  checkMs: 1_000,
  // part of the 15 s that a shutdown may take (lifecycle.ts)
  closingMs: 5_000,
}

/** Node has one request timeout for all routes, so it gets the longest. */
export const serverOptions = ({ headersMs, uploadMs, checkMs }: ServerLimits) => ({
  requestTimeout: uploadMs,
  http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs },
})

/** Limits connections, and the time of each request except uploads. Call it before adding routes. */
export function limitServer(
  app: FastifyInstance,
  { connections, waiting: mostWaiting, requestMs, closingMs }: ServerLimits,
  trustProxy: readonly string[],
): void {
  const waiting = new WeakMap<IncomingMessage, NodeJS.Timeout>()
  const stop = (request: IncomingMessage) => clearTimeout(waiting.get(request))
  const onRefused = countRefusedConnection
  shareConnections(app.server, { most: connections, mostWaiting, trustProxy, onRefused })
  app.addHook('onRequest', async ({ raw }, reply) => {
    // Node still hands over requests that it had read before the connection was closed
    if (raw.socket.destroyed) return reply.hijack()
    const timer = setTimeout(() => {
      if (raw.complete) return
      // already answered, yet the client keeps sending
      if (reply.raw.headersSent) raw.socket.destroy()
      else app.server.emit('clientError', late(), raw.socket)
    }, requestMs).unref()
    waiting.set(raw, timer)
    return undefined
  })
  // after the guard: only those who may upload get here
  app.addHook('preParsing', async ({ raw, routeOptions }) => {
    if (isStreamed(routeOptions.config.operation)) stop(raw)
  })
  app.addHook('onResponse', async ({ raw }) => stop(raw))
  drainBody(app, requestMs)
  endInTime(app, closingMs)
}

const late = () => Object.assign(new Error('the request is incomplete'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/**
 * Reads and drops the rest of a body that was answered early; otherwise the next request on its connection
 * would wait behind it. Node does so only if nothing has read the body yet. After `maxMs` the connection is
 * closed.
 */
export function drainBody(app: FastifyInstance, maxMs: number): void {
  app.addHook('onResponse', async ({ raw }) => {
    raw.resume()
    const { socket } = raw
    if (raw.complete !== false || socket.destroyed) return
    const timer = setTimeout(() => socket.destroy(), maxMs).unref()
    function over(): void {
      clearTimeout(timer)
      socket.off('close', over)
    }
    raw.once('end', over)
    // an answered request gets no event when its socket closes
    socket.once('close', over)
  })
}

const refusedConnections = new Counter({
  name: 'sluice_control_connections_refused_total',
  help: 'Connections closed because too many were open.',
  registers: [registry],
})

const countRefusedConnection = () => refusedConnections.inc()
