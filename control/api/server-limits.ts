import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Counter } from 'prom-client'
import { limitChunks } from '../../http/chunks.ts'
import {
  delayResponse,
  endInTime,
  endRefused,
  NODE_OPTIONS,
  shareConnections,
} from '../../http/connections.ts'
import { createNetworkLimit } from '../../http/rate-limit.ts'
import { limitUnread } from '../../http/unread.ts'
import { registry } from '../../process/metrics.ts'
import type { RateLimit } from '../../process/token-bucket.ts'
import { isStreamed } from './operation.ts'

/** In milliseconds and bytes. */
export type ServerLimits = {
  /** Beyond it, the network with the most open connections loses one. */
  connections: number
  /** Requests waiting for answers on one connection. A browser sends one. */
  waiting: number
  headersMs: number
  /** Between requests. */
  keepAliveMs: number
  requestMs: number
  /** For uploads, whose senders are authenticated. */
  uploadMs: number
  checkMs: number
  closingMs: number
  /** A client that reads nothing is disconnected after this time, or at the latest after twice as long. */
  unreadMs: number
  /**
   * Unread answers of all clients. Beyond it, the network with the most loses the connection that has waited longest.
   */
  unreadBytes: number
  /** Requests without a valid token, per network. Beyond it, answers are delayed. */
  strangers: RateLimit
  strangerDelayMs: number
}

export const SERVER_LIMITS: ServerLimits = {
  // six for each of 100 browsers. Each can hold 16 KB of headers and 4 KB of a body
  connections: 1_000,
  waiting: 4,
  headersMs: 15_000,
  // above the 60 s of common load balancers, so they close first
  keepAliveMs: 75_000,
  // 1 MB at 35 KB/s
  requestMs: 30_000,
  uploadMs: 30 * 60_000,
  checkMs: 1_000,
  // part of the 15 s of a shutdown (lifecycle.ts)
  closingMs: 5_000,
  // 2 MB at 35 KB/s: an answer counts as read when Node has passed on all of it
  unreadMs: 60_000,
  // a page of events has up to 3 MB
  unreadBytes: 128 * 1024 * 1024,
  // a page of the console loads 60 files; a request takes up to 0.5 ms
  strangers: { perSecond: 100, burst: 1_000 },
  strangerDelayMs: 2_000,
}

/** Node has one request timeout for all routes: the longest. */
export const serverOptions = ({ headersMs, keepAliveMs, uploadMs, checkMs }: ServerLimits) => ({
  requestTimeout: uploadMs,
  keepAliveTimeout: keepAliveMs,
  http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs, ...NODE_OPTIONS },
})

/** Call it before adding routes, and after what corrects `ip`. */
export function limitServer(app: FastifyInstance, limits: ServerLimits, trustProxy: readonly string[]): void {
  const { connections, waiting: each, requestMs, closingMs, unreadMs, unreadBytes } = limits
  const waiting = new WeakMap<IncomingMessage, NodeJS.Timeout>()
  const stop = (request: IncomingMessage) => clearTimeout(waiting.get(request))
  const onRefused = countRefusedConnection
  const { open, nameClient } = shareConnections(app.server, {
    most: connections,
    waiting: { each, all: 0 },
    unreadMs,
    trustProxy,
    onRefused,
  })
  app.addHook('onRequest', async ({ raw, ip }, reply) => {
    // Node still emits requests that it read before the connection was closed
    if (raw.socket.destroyed) return reply.hijack()
    // reset before it was accepted: the audit line of a change would have no address
    if (raw.socket.remoteAddress === undefined) {
      raw.socket.destroy()
      return reply.hijack()
    }
    nameClient(reply.raw, ip)
    const timer = setTimeout(() => {
      if (raw.complete) return
      // answered, but the client keeps sending
      if (reply.raw.headersSent) raw.socket.destroy()
      else app.server.emit('clientError', late(), raw.socket)
    }, requestMs).unref()
    waiting.set(raw, timer)
    // no response follows if the client leaves: the timer would keep the request in memory
    raw.once('close', () => clearTimeout(timer))
    return undefined
  })
  // after the guard: only authorized uploads get here
  app.addHook('preParsing', async ({ raw, routeOptions }) => {
    if (isStreamed(routeOptions.config.operation)) stop(raw)
  })
  app.addHook('onResponse', async ({ raw }) => stop(raw))
  drainBody(app, requestMs)
  const countUnread = limitUnread(unreadBytes, onRefused)
  app.addHook('onSend', async (_request, reply, payload) => {
    // not files, whose bytes all clients share, nor streams, which stop while nobody reads
    if (typeof payload === 'string') countUnread(reply, Buffer.byteLength(payload))
  })
  // before the delay, during which Node would read the body
  limitDiscarded(app)
  slowStrangers(app, limits)
  endInTime(app, open, closingMs)
}

/**
 * Slows down clients that wait for each answer, as most floods do; others lose their connection (`waiting`). Closes
 * connections while half of all are delayed: behind a proxy, no other limit makes room.
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
      endRefused(raw)
      countRefusedConnection()
      return
    }
    delayed += 1
    await delayResponse(raw, strangerDelayMs)
    delayed -= 1
  })
}

/**
 * Closes connections that send the rest of an answered body in very many chunks. 3 MB in chunks of one byte took 0.3 s,
 * and one connection could send them for `requestMs`. Administrators are exempt: they may upload line by line, and must
 * get the answer.
 */
function limitDiscarded(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw, caller }, reply) => {
    if (raw.complete || caller?.who === 'admin') return
    const push = raw.push.bind(raw)
    const isOneTooMany = limitChunks()
    // drops chunks here, because events would take three times as long
    raw.push = (chunk: Buffer | null) => {
      if (chunk === null) return push(null)
      if (isOneTooMany(chunk) && raw.socket.writable) {
        endRefused(reply.raw)
        countRefusedConnection()
      }
      return true
    }
    // otherwise Node would drop them uncounted
    raw.resume()
  })
}

const late = () => Object.assign(new Error('the request is incomplete'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/**
 * Drops the rest of a body that was answered early: the connection's next request waits behind it. Node does so only if
 * nothing has read the body. Closes the connection after `maxMs`.
 */
function drainBody(app: FastifyInstance, maxMs: number): void {
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
  help: 'Connections closed because too many were open, or too many requests or unread answers waited.',
  registers: [registry],
})

const countRefusedConnection = () => void refusedConnections.inc()
