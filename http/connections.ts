import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { closeUnread, isLingering } from './close-unread.ts'
import { createNetworks, type Group, shareOf } from './networks.ts'
import { RequestWithPlainNames } from './requests.ts'
import { endUnread } from './unread.ts'

export type Connections = {
  open: ReadonlySet<Socket>
  lastResponse(socket: Socket): ServerResponse | undefined
  /** Names the client of a request, which may have come through a trusted proxy. */
  nameClient(response: ServerResponse, ip: string): void
}

type Options = {
  most: number
  /** CIDRs of load balancers. Each of their connections counts for the client whose request it carries, if any. */
  trustProxy: readonly string[]
  /** While more than `all` requests wait for answers, connections with more than `each` are closed. */
  waiting: { each: number; all: number }
  /** A client that reads no answer for this long, at most for twice as long, is disconnected. */
  unreadMs: number
  /** A connection was closed to stay within a limit. */
  onRefused: () => void
}

/** For every server. Each refuses requests without Host itself: if Node did, no limit would count them. */
export const NODE_OPTIONS = { requireHostHeader: false, IncomingMessage: RequestWithPlainNames } as const

/**
 * Connections that wait to be accepted, if the kernel allows as many (`net.core.somaxconn`). It drops further ones, and
 * clients try again only after a second or more. With Node's 511, a burst of 2,000 took 2.3 s (p99) to connect to a busy
 * process instead of 0.5 to 0.8 s.
 */
export const BACKLOG = 4_096

/** Node refuses requests with more. 64 KB of very many headers would take 135 KB instead of 85. */
const HEADERS = 200
/** Node refuses connections this far above `most`, as closing ones still count. */
const CLOSING = 64
/** Connections that still wait for their clients to close after another took their place. Fewer than CLOSING. */
const UNREAD = 48
/** Beyond this share, a network can lose connections whose requests wait, and proxies can lose idle ones to anyone. */
const LARGE_SHARE = 1 / 8

const REFUSED =
  'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

/**
 * Closes the connection of a request, after a 503 if no answer has begun. nginx counts a connection that closes without
 * an answer as a failure of the server, and sends it no requests for 10 s.
 */
export function endRefused(response: ServerResponse): void {
  const { socket, complete } = response.req
  if (response.socket === socket && !response.headersSent && socket.writable) socket.write(REFUSED)
  if (complete) socket.destroy()
  else closeUnread(socket)
}

/**
 * No network can take all connections. No client can keep out others of its network (a /64, or an address behind NAT),
 * unless requests wait on all connections. An IPv6 site (/48) counts like a network with an eighth of its connections.
 *
 * When `most` connections are open, a new one replaces another, by the first rule that finds one:
 * 1. if more than LARGE_SHARE are idle ones of proxies, and no network has more: the least recently used of these;
 * 2. if it comes from the largest network or a smaller one: the oldest there that has no request in progress;
 * 3. if it comes from a smaller network, and the largest has more than LARGE_SHARE: the oldest there;
 * 4. rule 2, then rule 3, with the largest network that can lose one instead of the largest of all;
 * 5. if it comes from a proxy: the least recently used idle one of the proxies.
 * Otherwise it is refused. In rules 2 to 4, a network may be a site.
 */
export function shareConnections(
  server: Server,
  { most, waiting, unreadMs, trustProxy, onRefused }: Options,
): Connections {
  const responses = new WeakMap<Socket, ServerResponse>()
  const open = new Set<Socket>()
  const linger = boundLingering(UNREAD)
  const networks = createNetworks(trustProxy, (socket) => open.has(socket))
  const victimFor = createVictimFinder({ networks, responses, large: most * LARGE_SHARE })

  function refuse(socket: Socket): void {
    const response = networks.isFromProxy(socket) ? responses.get(socket) : undefined
    if (!response) return void socket.destroy()
    // it may linger, but no longer counts
    open.delete(socket)
    networks.remove(socket)
    endRefused(response)
    // also if it was closed unread before, when it still had its place
    if (!socket.destroyed) linger(socket)
  }

  const isOneTooMany = countWaiting(waiting)
  server.prependListener('request', ({ socket }, response) => {
    responses.set(socket, response)
    // set by `keepUnused`
    if (socket.timeout) socket.setTimeout(0)
    // Node still emits requests that it read before the connection was closed
    if (isLingering(socket)) socket.destroy()
    if (socket.destroyed || !isOneTooMany(socket, response)) return
    socket.destroy()
    onRefused()
  })
  // Node would answer these itself; a server may ignore expectations other than 100-continue
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    const share = networks.add(socket)
    if (open.size <= most) return
    refuse(victimFor(socket, share) ?? socket)
    onRefused()
  })
  endUnread(server, open, unreadMs)
  server.maxConnections = most + CLOSING
  server.maxHeadersCount = HEADERS
  server.on('drop', onRefused)
  return { open, lastResponse: (socket) => responses.get(socket), nameClient: networks.nameClient }
}

/** When more than `most` connections linger, the oldest is closed. */
function boundLingering(most: number): (socket: Socket) => void {
  const lingering = new Set<Socket>()
  return (socket) => {
    lingering.add(socket)
    socket.once('close', () => lingering.delete(socket))
    const [oldest] = lingering
    if (!oldest || lingering.size <= most) return
    lingering.delete(oldest)
    oldest.destroy()
  }
}

type Finding = {
  networks: ReturnType<typeof createNetworks>
  responses: WeakMap<Socket, ServerResponse>
  large: number
}

/** @returns a function that applies the rules of `shareConnections`, in their order. */
function createVictimFinder({ networks, responses, large }: Finding) {
  const idleOfProxies = (): Socket | undefined => networks.idle.values().next().value

  /** Otherwise one client could fill a proxy's pool, and shut out other proxies and clients without a proxy. */
  function ofLargePool(largest: Group): Socket | undefined {
    return shareOf(largest) <= large && networks.idle.size > large ? idleOfProxies() : undefined
  }

  return function victimFor(socket: Socket, share: number): Socket | undefined {
    const largest = networks.largest()
    return (
      ofLargePool(largest) ??
      spareIn(largest) ??
      oldestIn(largest) ??
      // otherwise a client could protect its idle ones by keeping an eighth of all connections busy in one network
      inAny(spareIn) ??
      inAny(oldestIn) ??
      (networks.isFromProxy(socket) ? idleOfProxies() : undefined)
    )

    function spareIn(group: Group): Socket | undefined {
      if (!isLarger(group) && !group.sockets.has(socket)) return undefined
      return group.sockets.values().find((it) => it !== socket && !isWaitedOn(it, responses.get(it)))
    }

    function oldestIn(group: Group): Socket | undefined {
      return isLarger(group) && group.sockets.size > large ? group.sockets.values().next().value : undefined
    }

    function isLarger(group: Group): boolean {
      return shareOf(group) > share
    }

    function inAny(pick: typeof spareIn): Socket | undefined {
      return pick(networks.largest((group) => pick(group) !== undefined))
    }
  }
}

const delayed = new WeakSet<ServerResponse>()

/** For a client that sends too many requests. Its connection may be replaced meanwhile. */
export async function delayResponse(response: ServerResponse, ms: number): Promise<void> {
  delayed.add(response)
  await delay(ms)
  delayed.delete(response)
}

/** A client that does not read its responses does not count, or it could hold its place forever. */
function isWaitedOn(socket: Socket, response: ServerResponse | undefined): boolean {
  if (!response || delayed.has(response) || socket.writableLength > 0) return false
  return response.req.complete && !response.writableFinished
}

type OnBroken = (error: Error & { code?: string }, socket: Socket) => void

/**
 * Keeps a connection that has sent nothing open for `idleMs` more, without a 408. Browsers and pools open some in advance,
 * and the 408 could arrive just as they send their first request. Each line break before that request restarts the time.
 */
export const keepUnused =
  (respond: OnBroken, idleMs: number): OnBroken =>
  (error, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || socket.bytesRead > 0) return respond(error, socket)
    socket.setTimeout(idleMs)
  }

/** @returns a function that counts a request and tells whether it is one too many. */
function countWaiting({
  each,
  all,
}: Options['waiting']): (socket: Socket, response: ServerResponse) => boolean {
  const bySocket = new WeakMap<Socket, number>()
  let total = 0

  function change(socket: Socket, by: number): number {
    const before = bySocket.get(socket)
    // responses behind others get no event when their connection closes
    if (before === undefined) socket.once('close', () => change(socket, -(bySocket.get(socket) ?? 0)))
    const count = (before ?? 0) + by
    bySocket.set(socket, count)
    total += by
    return count
  }

  return (socket, response) => {
    response.once('close', () => {
      if (!socket.destroyed) change(socket, -1)
    })
    return change(socket, 1) > each && total > all
  }
}

/**
 * A closing server no longer checks for slow clients, so one could delay the shutdown.
 * @param open all connections, also those with a CONNECT, which Node forgets.
 * @param ms for requests in progress.
 */
export function endInTime(app: FastifyInstance, open: ReadonlySet<Socket>, ms: number): void {
  let timer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    timer = setTimeout(() => {
      for (const socket of open) socket.destroy()
    }, ms)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}
