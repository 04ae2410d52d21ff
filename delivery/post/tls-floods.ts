import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { buildConnector } from 'undici'

/**
 * What TLS may add to the data of one exchange: certificates, and a header for each record. Records without data, such
 * as KeyUpdate, bypass our `read`, and 100 KB of them take 30 ms of CPU.
 */
const MAX_TLS_BYTES = 256 * 1024
const LOOK_MS = 250
/** For how long a webhook that exceeded `MAX_TLS_BYTES` is not contacted. */
const FLOODED_MS = 60_000
const MAX_FLOODED = 20_000

type OnConnected = (error: Error | null, socket: Socket | null, tcp?: Socket) => void
export type Connect = (options: buildConnector.Options, onConnected: OnConnected) => void

/** Connects TCP separately, because only the TCP socket's `bytesRead` includes what TLS adds. */
export const tcpFirst =
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
export type Tls = { socket: Socket; tcp: Socket; before: number; cut(): void }

export const addedBy = ({ socket, tcp }: Tls) => tcp.bytesRead - socket.bytesRead

/** Finds webhooks that send TLS records without data. */
export function createFloodWatch() {
  const found = new LRUCache<string, true>({ max: MAX_FLOODED, ttl: FLOODED_MS })
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
