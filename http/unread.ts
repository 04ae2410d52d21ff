import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { holderOf } from './rate-limit.ts'

/** Replaces Node's socket timeout, which restarts at each read and write (2 us per call). */
export function endUnread(server: Server, open: ReadonlySet<Socket>, unreadMs: number): void {
  let before = new WeakMap<Socket, number>()
  const timer = setInterval(() => {
    const waiting = [...open].filter(({ writableLength }) => writableLength > 0)
    for (const socket of waiting) if (before.get(socket) === gone(socket)) socket.destroy()
    before = new WeakMap(waiting.map((socket) => [socket, gone(socket)]))
  }, unreadMs).unref()
  server.once('close', () => clearInterval(timer))
}

const gone = ({ bytesWritten, writableLength }: Socket): number => bytesWritten - writableLength

/** Counts a large answer until it is read. `ip`: the client's, even behind a trusted proxy. */
export type CountUnread = (reply: { raw: ServerResponse; request: { ip: string } }, bytes: number) => void

/** Smaller answers are not counted: waiting requests are limited too. */
const LARGE_ANSWER = 4 * 1024

/**
 * Limits the memory of unread answers. Beyond `most` bytes, the IPv4 address or IPv6 site that holds the most loses
 * the connection that has waited longest. A single connection may exceed `most`.
 */
export function limitUnread(most: number, onRefused: () => void): CountUnread {
  /** Longest waiting first. */
  const holders = new Map<Socket, { network: string; bytes: number }>()
  const watched = new WeakSet<Socket>()
  let total = 0

  function release(socket: Socket, bytes: number): void {
    const holder = holders.get(socket)
    if (!holder) return
    const released = Math.min(bytes, holder.bytes)
    total -= released
    holder.bytes -= released
    if (holder.bytes === 0) holders.delete(socket)
  }

  const forget = (socket: Socket) => release(socket, Number.POSITIVE_INFINITY)

  function victim(): Socket | undefined {
    const byNetwork = new Map<string, { oldest: Socket; bytes: number }>()
    for (const [socket, { network, bytes }] of holders) {
      const of = byNetwork.get(network) ?? { oldest: socket, bytes: 0 }
      of.bytes += bytes
      byNetwork.set(network, of)
    }
    const [largest] = [...byNetwork.values()].sort((one, other) => other.bytes - one.bytes)
    return largest?.oldest
  }

  return ({ raw: response, request }, bytes) => {
    const { socket } = response.req
    if (bytes < LARGE_ANSWER || socket.destroyed) return
    // responses behind others get no event when their connection closes
    if (!watched.has(socket)) socket.once('close', () => forget(socket))
    watched.add(socket)
    const holder = holders.get(socket) ?? { network: holderOf(request.ip), bytes: 0 }
    holder.bytes += bytes
    total += bytes
    holders.set(socket, holder)
    response.once('close', () => release(socket, bytes))
    while (total > most && holders.size > 1) {
      const closed = victim()
      if (!closed) return
      forget(closed)
      closed.destroy()
      onRefused()
    }
  }
}
