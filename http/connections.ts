import type { Server, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { networkOf } from './rate-limit.ts'

export type Connections = {
  open: ReadonlySet<Socket>
  /** The response to the request that came last on a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined
}

type Options = {
  most: number
  /** CIDRs of load balancers: a connection of theirs stands for many clients, and is never closed for another. */
  trustProxy: readonly string[]
  /** How many requests may wait for answers on one connection; with more it is closed. Default: no limit. */
  mostWaiting?: number
  /** A connection was closed for want of room. */
  onRefused: () => void
}

/** Above `most` by so many Node refuses connections by itself: those that are being closed still count. */
const CLOSING = 64

/**
 * Bounds the open connections of a server, so that no network can take all of them: when there is no room, the network with the most gives one
 * up for a network that has fewer. It is the oldest on which no request waits for its answer; where there is none, the new one is refused.
 */
export function shareConnections(
  server: Server,
  { most, mostWaiting, trustProxy, onRefused }: Options,
): Connections {
  const responses = new WeakMap<Socket, ServerResponse>()
  const open = new Set<Socket>()
  const byNetwork = new Map<string, Set<Socket>>()
  const proxies = new BlockList()
  for (const cidr of trustProxy) {
    const [address = '', bits] = cidr.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }

  function largest(): ReadonlySet<Socket> {
    let found: ReadonlySet<Socket> = new Set()
    for (const sockets of byNetwork.values()) if (sockets.size > found.size) found = sockets
    return found
  }

  /** A client that does not read its answers does not count as waiting: it could hold its place forever. */
  function isWaitedOn(socket: Socket): boolean {
    const response = responses.get(socket)
    if (!response || socket.writableLength > 0) return false
    return response.req.complete && !response.writableFinished
  }

  /** Of proxies each connection counts as one client's. */
  function makeRoom(socket: Socket, own: number): void {
    const sockets = largest()
    const victim = sockets.size > own && [...sockets].find((one) => !isWaitedOn(one))
    ;(victim || socket).destroy()
    onRefused()
  }

  const waiting = new WeakMap<Socket, number>()
  server.prependListener('request', ({ socket }, response) => {
    responses.set(socket, response)
    if (mostWaiting === undefined) return
    const count = (waiting.get(socket) ?? 0) + 1
    waiting.set(socket, count)
    response.once('close', () => waiting.set(socket, (waiting.get(socket) ?? 0) - 1))
    if (count <= mostWaiting || socket.destroyed) return
    socket.destroy()
    onRefused()
  })
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    const address = socket.remoteAddress ?? ''
    let own = 1
    if (!proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      const network = networkOf(address)
      const sockets = byNetwork.get(network) ?? new Set()
      byNetwork.set(network, sockets.add(socket))
      own = sockets.size
      socket.once('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0 && byNetwork.get(network) === sockets) byNetwork.delete(network)
      })
    }
    if (open.size > most) makeRoom(socket, own)
  })
  server.maxConnections = most + CLOSING
  server.on('drop', onRefused)
  return { open, lastResponse: (socket) => responses.get(socket) }
}

/** Node stops looking at slow clients when a server closes: one of them must not hold up the end of the process. @param ms for what is under way then. */
export function endInTime(app: FastifyInstance, ms: number): void {
  let timer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    timer = setTimeout(() => app.server.closeAllConnections(), ms)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}
