import type { ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { networkOf, SITE_TIMES, siteOf } from './rate-limit.ts'

/** A network, or an IPv6 site, whose networks may all belong to one customer. */
export type Group = { sockets: Set<Socket>; times: number }

/** A site may have as many connections as SITE_TIMES networks. */
export const shareOf = ({ sockets, times }: Group): number => sockets.size / times

/** Open connections by group. */
function createMembership() {
  const groups = new Map<string, Group>()

  function groupOf(name: string, times: number): Group {
    const group = groups.get(name) ?? { sockets: new Set(), times }
    groups.set(name, group)
    return group
  }

  function join(socket: Socket, ip: string): { share: number; leave: () => void } {
    const network = networkOf(ip)
    const site = siteOf(network)
    const joined = new Map([[network, groupOf(network, 1)]])
    if (site !== undefined) joined.set(site, groupOf(site, SITE_TIMES))
    for (const { sockets } of joined.values()) sockets.add(socket)
    function leave(): void {
      for (const [name, { sockets }] of joined) {
        sockets.delete(socket)
        if (sockets.size === 0) groups.delete(name)
      }
      joined.clear()
    }
    return { share: Math.max(...[...joined.values()].map(shareOf)), leave }
  }

  /** @returns an empty group if there is none. */
  function largest(isMeant = (_group: Group) => true): Group {
    let found: Group = { sockets: new Set(), times: 1 }
    for (const group of groups.values()) if (shareOf(group) > shareOf(found) && isMeant(group)) found = group
    return found
  }

  return { join, largest }
}

/**
 * During a request, a proxy's connection belongs to the network of the client that the proxy names, or to the proxy's own
 * if it names none: a client may have a trusted address, too. Between requests, it belongs to no network.
 */
export function createNetworks(trustProxy: readonly string[], isOpen: (socket: Socket) => boolean) {
  const { join, largest } = createMembership()
  const proxies = blockListOf(trustProxy)
  /** Connections from proxies between requests, the least recently used first. A set, for fast removal. */
  const idle = new Set<Socket>()
  const leaving = new WeakMap<Socket, () => void>()

  function remove(socket: Socket): void {
    idle.delete(socket)
    leaving.get(socket)?.()
  }

  return {
    idle,
    largest,
    remove,
    isFromProxy: (socket: Socket) => leaving.has(socket),
    /** @returns the share of its network or site, whichever is larger; 1 for a proxy. */
    add(socket: Socket): number {
      const address = socket.remoteAddress ?? ''
      if (proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
        idle.add(socket)
        leaving.set(socket, () => {})
        socket.once('close', () => remove(socket))
        return 1
      }
      const { share, leave } = join(socket, address)
      socket.once('close', leave)
      return share
    },
    nameClient(response: ServerResponse, ip: string): void {
      const { socket } = response.req
      const leaveEarlier = leaving.get(socket)
      if (!leaveEarlier || socket.destroyed) return
      idle.delete(socket)
      leaveEarlier()
      const { leave } = join(socket, ip)
      leaving.set(socket, leave)
      function end(): void {
        leave()
        // unless it was closed, or carries a later request
        if (isOpen(socket) && leaving.get(socket) === leave) idle.add(socket)
      }
      response.once('close', () => {
        // the body may still be arriving
        if (response.req.complete) end()
        else response.req.once('end', end)
      })
    },
  }
}

function blockListOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
