import type { Server, ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { networkOf } from './rate-limit.ts'

export type Connections = {
  open: ReadonlySet<Socket>
  lastResponse(socket: Socket): ServerResponse | undefined
}

type Options = {
  most: number
  /**
   * CIDRs of load balancers. Their connections stand for many clients, so they are never closed in favor of
   * others.
   */
  trustProxy: readonly string[]
  /** How many requests may wait for answers on one connection; with more it is closed. Default: no limit. */
  mostWaiting?: number
  /** Called when a connection was closed to stay within a limit. */
  onRefused: () => void
}

/** Node itself refuses connections this far above `most`: connections that are closing still count. */
const CLOSING = 64

/**
 * Limits the open connections of a server so that no network can take all of them. When it is full, a new connection
 * from a smaller network replaces one of the network with the most: its oldest without a request in progress. If there
 * is none, the new connection is refused.
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

  /** A client that does not read its responses does not count as waiting, or it could hold its place forever. */
  function isWaitedOn(socket: Socket): boolean {
    const response = responses.get(socket)
    if (!response || socket.writableLength > 0) return false
    return response.req.complete && !response.writableFinished
  }

  /** @param networkSize how many connections its network has; 1 for a proxy, since each stands for one client. */
  function makeRoom(socket: Socket, networkSize: number): void {
    const sockets = largest()
    const victim = sockets.size > networkSize && [...sockets].find((candidate) => !isWaitedOn(candidate))
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
    let networkSize = 1
    if (!proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      const network = networkOf(address)
      const sockets = byNetwork.get(network) ?? new Set()
      byNetwork.set(network, sockets.add(socket))
      networkSize = sockets.size
      socket.once('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0 && byNetwork.get(network) === sockets) byNetwork.delete(network)
      })
    }
    if (open.size > most) makeRoom(socket, networkSize)
  })
  server.maxConnections = most + CLOSING
  server.on('drop', onRefused)
  return { open, lastResponse: (socket) => responses.get(socket) }
}

/**
 * Once a server closes, Node no longer checks for slow clients. Without this, one of them could delay the shutdown.
 * @param ms for requests in progress at that moment.
 */
export function endInTime(app: FastifyInstance, ms: number): void {
  let timer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    timer = setTimeout(() => app.server.closeAllConnections(), ms)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}
