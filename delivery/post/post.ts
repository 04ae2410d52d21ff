import type { LookupFunction, Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { classifyError, classifyResponse, codeOf } from '../outcome.ts'
import type { Request } from '../request.ts'
import { createConnections, IDLE_MS } from './connections.ts'
import { Exchange, type Listener, OVERFLOW } from './exchange.ts'
import { addedBy, type Connect, createFloodWatch, type Tls, tcpFirst } from './tls-floods.ts'

export type Poster = {
  /** Never throws. `onEnd` comes within the time limit, whatever the receiver does. */
  post(request: Request, listener: Listener): void
  close(): Promise<void>
}

export type PosterOptions = {
  limitMs: number
  /** Vets what may be dialled: `lookup` names, `vetUrl` ports and IP literals. */
  egress: { lookup: LookupFunction; vetUrl(url: URL): void }
  ca?: string[] | undefined
  /** How many idle connections stay open. */
  maxIdle?: number
}

/**
 * Share of the time limit for one of several addresses, so that two can be tried. Node's default of 250 ms is too
 * short: a connection around the world takes as long, and a lost packet costs a second.
 */
const PER_ADDRESS = 2 / 5
const MAX_TARGETS = 20_000
const CLOSE_IDLE_MS = 5_000
/** If the receiver does not offer a time: many close idle connections after 5 s without saying so. */
const DEFAULT_IDLE_MS = 4_000
/** For one exchange: 1xx responses, 16 KB of headers, 16 KB of body, and framing. */
const MAX_WIRE_BYTES = 64 * 1024
const now = () => performance.now()

const INTERIM = 'HTTP/1.1 1'
const CONTINUE = 'HTTP/1.1 100'
const TWO = 0x32
const BLANK_LINE = [0x0d, 0x0a, 0x0d, 0x0a]

/**
 * Turns each 100 Continue into a 102, which undici skips like any other 1xx. undici closes the connection at an unasked
 * 100, but clients must skip it (RFC 9110, 15.2): IIS and some proxies send it. Takes the answer in any pieces.
 */
function createContinueSkipper() {
  /** Of the current response. */
  let status = ''
  let endMatched = 0

  return (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.toString('latin1', at, at + CONTINUE.length - status.length)
      status += part
      at += part.length
      if (status.length < CONTINUE.length || !status.startsWith(INTERIM)) return
      if (part !== '' && status === CONTINUE) chunk[at - 1] = TWO
      for (; at < chunk.length && endMatched < BLANK_LINE.length; at++)
        endMatched = chunk[at] === BLANK_LINE[endMatched] ? endMatched + 1 : 0
      if (endMatched < BLANK_LINE.length) return
      status = ''
      endMatched = 0
    }
  }
}

/** TLS session tickets per connection. Servers send about two. They bypass our `read`. */
const MAX_TICKETS = 16

/** Connects with the first POST. */
class Connection {
  idleSince = 0
  readonly #client: Client
  #exchange: Exchange | undefined
  #bytes = 0
  #skipContinue = createContinueSkipper()
  #tls: Tls | undefined

  constructor(origin: string, connect: Connect, onTls: (tls: Tls) => void) {
    this.#client = new Client(origin, {
      connect: (options, callback) =>
        connect(withPlainName(options), (error, socket, tcp) => {
          if (!socket) return callback(error ?? new Error('no socket'), null)
          this.#connected(socket)
          if (tcp) {
            this.#tls = { socket, tcp, before: 0, cut: () => this.#cut(socket) }
            onTls(this.#tls)
          }
          callback(null, socket)
        }),
      pipelining: 1,
      keepAliveTimeout: DEFAULT_IDLE_MS,
      // a receiver may offer to keep connections open for very long
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: 16 * 1024,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    this.#exchange = exchange
    this.#bytes = 0
    this.#skipContinue = createContinueSkipper()
    if (this.#tls) this.#tls.before = addedBy(this.#tls)
    this.#client.dispatch(request, exchange)
  }

  free(): void {
    this.#exchange = undefined
  }

  destroy(): Promise<void> {
    return this.#client.destroy()
  }

  #connected(socket: Socket): void {
    this.#exchange?.connected()
    let tickets = 0
    socket.on('session', () => {
      tickets += 1
      if (tickets > MAX_TICKETS) this.#cut(socket)
    })
    const read = socket.read.bind(socket)
    socket.read = (size?: number) => {
      if (this.#bytes < MAX_WIRE_BYTES) return this.#bounded(read(size))
      this.#cut(socket)
      return null
    }
  }

  #cut(socket: Socket): void {
    this.#exchange?.overflow()
    socket.destroy()
  }

  /** Bytes beyond the limit are not parsed. */
  #bounded(chunk: Buffer | null): Buffer | null {
    if (!chunk) return null
    const left = MAX_WIRE_BYTES - this.#bytes
    this.#bytes += chunk.length
    if (this.#exchange?.isWaiting()) this.#skipContinue(chunk)
    return chunk.length > left ? chunk.subarray(0, left) : chunk
  }
}

/** SNI names do not end with a dot (RFC 6066, 3), although hosts may: servers in Go refuse the handshake. */
const withPlainName = (options: buildConnector.Options): buildConnector.Options =>
  options.hostname.endsWith('.') ? { ...options, servername: options.hostname.slice(0, -1) } : options

/**
 * Resumes TLS sessions, because a full handshake takes more CPU. Resuming does not check the certificate, so all
 * sessions are forgotten when the first of their certificates expires.
 */
function createConnect({ limitMs, egress, ca }: PosterOptions): Connect {
  // made once, as it holds all roots
  const secureContext = createSecureContext(ca && { ca })
  const withoutSessions = () =>
    buildConnector({
      lookup: egress.lookup,
      timeout: limitMs,
      autoSelectFamilyAttemptTimeout: Math.max(10, Math.round(limitMs * PER_ADDRESS)),
      // explicit, as an environment variable could switch the check off
      rejectUnauthorized: true,
      secureContext,
      maxCachedSessions: 1_000,
    })
  let connect = withoutSessions()
  let expiresAt = Number.POSITIVE_INFINITY

  return tcpFirst((options, callback) => {
    if (Date.now() >= expiresAt) {
      connect = withoutSessions()
      expiresAt = Number.POSITIVE_INFINITY
    }
    connect(options, (...connected) => {
      const [, socket] = connected
      if (socket instanceof TLSSocket) expiresAt = Math.min(expiresAt, expiryOf(socket))
      callback(...connected)
    })
  })
}

/** When its certificate expires. A resumed session has none. */
const expiryOf = (socket: TLSSocket) =>
  socket.getPeerX509Certificate()?.validToDate.getTime() ?? Number.POSITIVE_INFINITY

type RequestTarget = { origin: string; path: string }

/** Vets each URL once, a refused one each time. @throws ForbiddenAddress, or TypeError for an invalid URL. */
function createRequestTargets({ vetUrl }: PosterOptions['egress']): (url: string) => RequestTarget {
  const targets = new LRUCache<string, RequestTarget>({ max: MAX_TARGETS })
  return (url) => {
    const known = targets.get(url)
    if (known) return known
    const parsed = new URL(url)
    vetUrl(parsed)
    const target = { origin: parsed.origin, path: parsed.pathname + parsed.search }
    targets.set(url, target)
    return target
  }
}

function endUnsent(listener: Listener, code: string): void {
  listener.onOutcome(classifyError(code), 0, false)
  listener.onEnd(null)
}

/** Follows no redirects, uses no proxy. */
export function createPoster(options: PosterOptions): Poster {
  const { limitMs, egress, maxIdle = 64 } = options
  const targetOf = createRequestTargets(egress)
  const floods = createFloodWatch()
  const connect = createConnect(options)
  const connections = createConnections(
    (origin, webhook) => new Connection(origin, connect, (tls) => floods.add(webhook, tls)),
    { maxIdle, now },
  )
  const closingIdle = setInterval(() => connections.closeIdle(now()), CLOSE_IDLE_MS).unref()

  function begin(
    { origin, path }: RequestTarget,
    { webhook, headers, body, retryOn }: Request,
    listener: Listener,
  ) {
    const connection = connections.take(webhook, origin)
    const exchange = new Exchange({
      limitMs,
      listener,
      classify: (head) => classifyResponse(head, { retryOn, now: Date.now() }),
      release(reusable) {
        connection.free()
        if (reusable) connections.release(webhook, connection)
        else connections.drop(connection)
      },
    })
    connection.dispatch({ path, method: 'POST', headers, body }, exchange)
  }

  return {
    post(request, listener) {
      if (floods.hasFlooded(request.webhook)) return endUnsent(listener, OVERFLOW)
      let target: RequestTarget
      try {
        target = targetOf(request.url)
      } catch (error) {
        return endUnsent(listener, codeOf(error))
      }
      begin(target, request, listener)
    },
    async close() {
      clearInterval(closingIdle)
      floods.stop()
      await connections.close()
    },
  }
}
