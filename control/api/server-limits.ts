import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter } from 'prom-client'
import { COUNTED, delayResponse, endInTime, limitUnread, shareConnections } from '../../http/connections.ts'
import { createNetworkLimit } from '../../http/rate-limit.ts'
import { registry } from '../../process/metrics.ts'
import type { RateLimit } from '../../process/token-bucket.ts'
import { isStreamed } from './operation.ts'

/** What clients may use of this process, most of it before they have sent a token. Times in milliseconds. */
export type ServerLimits = {
  /** Open connections; beyond them the network with the most loses one. */
  connections: number
  /** Requests that may wait for answers on one connection. A browser sends one. */
  waiting: number
  headersMs: number
  requestMs: number
  /** For an upload, whose sender is authenticated. */
  uploadMs: number
  checkMs: number
  closingMs: number
  /** A client that reads none of its waiting answers for this long, and at most for twice as long, is disconnected. */
  unreadMs: number
  /** All answers that clients have not read yet. Beyond it, a client that reads none loses its connection. */
  unreadBytes: number
  /** Requests without a valid token, per network. Beyond them, answers are delayed. */
  strangers: RateLimit
  strangerDelayMs: number
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
  // an answer counts as read when Node has passed on all of it: 2 MB at 35 KB/s
  unreadMs: 60_000,
  // a page of events has up to 3 MB; without this limit, 1,400 requests with the view token took 2 GB
  unreadBytes: 128 * 1024 * 1024,
  // a page of the console loads 60 files; a request without a token takes at most 0.5 ms
  strangers: { perSecond: 100, burst: 1_000 },
  strangerDelayMs: 2_000,
}

/** Node has one request timeout for all routes, so it gets the longest. */
export const serverOptions = ({ headersMs, uploadMs, checkMs }: ServerLimits) => ({
  requestTimeout: uploadMs,
  http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs, ...COUNTED },
})

/** Limits connections, and the time of each request except uploads. Call it before adding routes. */
export function limitServer(app: FastifyInstance, limits: ServerLimits, trustProxy: readonly string[]): void {
  const { connections, waiting: each, requestMs, closingMs, unreadMs, unreadBytes } = limits
  const waiting = new WeakMap<IncomingMessage, NodeJS.Timeout>()
  const stop = (request: IncomingMessage) => clearTimeout(waiting.get(request))
  const onRefused = countRefusedConnection
  shareConnections(app.server, {
    most: connections,
    waiting: { each, all: 0 },
    unreadMs,
    trustProxy,
    onRefused,
  })
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
  const countUnread = limitUnread(unreadBytes, onRefused)
  app.addHook('onSend', async (_request, reply, payload) => {
    // all clients share the bytes of a file, and streams stop while nobody reads them
    if (typeof payload === 'string') countUnread(reply, Buffer.byteLength(payload))
  })
  slowStrangers(app, limits)
  endInTime(app, closingMs)
}

/**
 * A client that waits for each answer, as most floods do, then sends few requests. One that does not wait loses its
 * connection (`waiting`). So do clients while answers are delayed on half of all connections: behind a proxy, where no
 * connection is closed to make room, they could otherwise take all of them.
 */
function slowStrangers(
  app: FastifyInstance,
  { strangers, strangerDelayMs, connections }: ServerLimits,
): void {
  const limit = createNetworkLimit(strangers, () => performance.now())
  let delayed = 0
  app.addHook('onSend', async ({ caller, ip }, { raw }) => {
    if (caller !== undefined || limit.draw(ip, 1) === undefined) return
    if (delayed >= connections / 2) {
      raw.destroy()
      countRefusedConnection()
      return
    }
    delayed += 1
    await delayResponse(raw, strangerDelayMs)
    delayed -= 1
  })
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

const countRefusedConnection = () => void refusedConnections.inc()
