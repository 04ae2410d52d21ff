import type { LookupFunction, Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { createConnections, IDLE_MS } from './connections.ts'
import { Exchange, type Listener, OVERFLOW } from './exchange.ts'
import { classifyError, classifyResponse, codeOf } from './outcome.ts'
import type { Request } from './request.ts'

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

type Place = { origin: string; path: string }

/**
 * Share of the time limit for one of several addresses, so that two can be tried. Node's default leaves an address
 * after 250 ms, but a connection around the world takes as long, and a lost packet costs a second.
 */
const PER_ADDRESS = 2 / 5
const MAX_PLACES = 20_000
const TIDY_MS = 5_000
/** For one exchange: 1xx responses, 16 KB of headers, 16 KB of body, and framing. */
const MAX_WIRE_BYTES = 64 * 1024
const now = () => performance.now()

/** TLS session tickets per connection. Servers send about two. They bypass our `read`. */
const MAX_TICKETS = 16
/**
 * What TLS may add to the data of one exchange: certificates, and a header for each record. Records without data, such
 * as KeyUpdate, also bypass our `read`, and 100 KB of them take 30 ms of CPU.
 */
const MAX_TLS_BYTES = 256 * 1024
const LOOK_MS = 250
/** For how long a webhook that exceeded `MAX_TLS_BYTES` is not contacted. */
const FLOODED_MS = 60_000

type OnConnected = (error: Error | null, socket: Socket | null, tcp?: Socket) => void
type Connect = (options: buildConnector.Options, onConnected: OnConnected) => void

/** Connects TCP separately: the `bytesRead` of the TCP socket includes what TLS adds; that of the TLS socket does not. */
const tcpFirst =
  (connect: buildConnector.connector): Connect =>
  (options, onConnected) => {
    const passOn =
      (tcp?: Socket): buildConnector.Callback =>
      (...[error, socket]) =>
        onConnected(error, socket, tcp)
    if (options.protocol !== 'https:') return connect(options, passOn())
    connect({ ...options, protocol: 'http:', port: options.port || '443' }, (...[error, tcp]) => {
      if (tcp) connect({ ...options, httpSocket: tcp }, passOn(tcp))
      else onConnected(error, null)
    })
  }

/** `before`: the bytes that TLS had added when the last exchange began. */
type Tls = { socket: Socket; tcp: Socket; before: number; cut(): void }

const addedBy = ({ socket, tcp }: Tls) => tcp.bytesRead - socket.bytesRead

/** Connects with the first POST. */
class Connection {
  idleSince = 0
  readonly #client: Client
  #exchange: Exchange | undefined
  #bytes = 0
  #tls: Tls | undefined

  constructor(origin: string, connect: Connect, onTls: (tls: Tls) => void) {
    this.#client = new Client(origin, {
      connect: (options, callback) =>
        connect(options, (error, socket, tcp) => {
          if (!socket) return callback(error ?? new Error('no socket'), null)
          this.#connected(socket)
          if (tcp) {
            this.#tls = { socket, tcp, before: 0, cut: () => this.#cut(socket) }
            onTls(this.#tls)
          }
          callback(null, socket)
        }),
      pipelining: 1,
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
    return chunk.length > left ? chunk.subarray(0, left) : chunk
  }
}

function endUnsent(listener: Listener, code: string): void {
  listener.onOutcome(classifyError(code), 0, false)
  listener.onEnd(null)
}

/** Finds webhooks that send TLS records without data. */
function createFloodWatch() {
  const found = new LRUCache<string, true>({ max: MAX_PLACES, ttl: FLOODED_MS })
  const open = new Map<Tls, string>()
  let looking: NodeJS.Timeout | undefined

  function look(tls: Tls, webhook: string): void {
    if (addedBy(tls) - tls.before <= MAX_TLS_BYTES) return
    found.set(webhook, true)
    tls.cut()
  }

  function lookAtAll(): void {
    for (const [tls, webhook] of open) look(tls, webhook)
    if (open.size === 0) stop()
  }

  function stop(): void {
    clearInterval(looking)
    looking = undefined
  }

  return {
    add(webhook: string, tls: Tls): void {
      open.set(tls, webhook)
      tls.socket.once('close', () => {
        open.delete(tls)
        look(tls, webhook)
      })
      looking ??= setInterval(lookAtAll, LOOK_MS).unref()
    },
    /** Within the last minute. */
    hasFlooded: (webhook: string) => found.size > 0 && found.has(webhook),
    stop,
  }
}

/** Follows no redirects, uses no proxy. */
export function createPoster({ limitMs, egress, ca, maxIdle = 64 }: PosterOptions): Poster {
  const connector = buildConnector({
    lookup: egress.lookup,
    timeout: limitMs,
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.round(limitMs * PER_ADDRESS)),
    // explicit, as an environment variable could switch the check off
    rejectUnauthorized: true,
    // made once, as it holds all roots
    secureContext: createSecureContext(ca && { ca }),
    maxCachedSessions: 1_000,
  })
  const places = new LRUCache<string, Place>({ max: MAX_PLACES })
  const floods = createFloodWatch()
  const connect = tcpFirst(connector)
  const connections = createConnections(
    (origin, webhook) => new Connection(origin, connect, (tls) => floods.add(webhook, tls)),
    { maxIdle, now },
  )
  const tidy = setInterval(() => connections.tidy(now()), TIDY_MS).unref()

  /** Vets each URL once, a refused one each time. @throws ForbiddenAddress, or TypeError for an invalid URL. */
  function placeOf(url: string): Place {
    const known = places.get(url)
    if (known) return known
    const parsed = new URL(url)
    egress.vetUrl(parsed)
    const place = { origin: parsed.origin, path: parsed.pathname + parsed.search }
    places.set(url, place)
    return place
  }

  function begin({ origin, path }: Place, { webhook, headers, body, retryOn }: Request, listener: Listener) {
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
      let place: Place
      try {
        place = placeOf(request.url)
      } catch (error) {
        return endUnsent(listener, codeOf(error))
      }
      begin(place, request, listener)
    },
    async close() {
      clearInterval(tidy)
      floods.stop()
      await connections.close()
    },
  }
}
