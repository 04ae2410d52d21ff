import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { registry } from '../process/metrics.ts'
import { createTokenBucket, type RateLimit } from '../process/token-bucket.ts'
import { closeUnread } from './close-unread.ts'
import { BACKLOG, NODE_OPTIONS, shareConnections } from './connections.ts'
import { hasBody, isAmbiguous } from './requests.ts'

export type Probe = {
  /** Why this process should get no work now. */
  notReady(): string | undefined
}

/** `/livez`: the process runs. `/readyz`: 503 with the reason if not ready. `/metrics`: Prometheus. */
export async function answerOps(
  path: string,
  probe: Probe,
): Promise<{ status: number; type: string; body: string | Buffer }> {
  if (path === '/livez') return { status: 200, type: 'text/plain', body: 'ok\n' }
  if (path === '/metrics') return { status: 200, type: registry.contentType, body: await collected() }
  if (path !== '/readyz')
    return { status: 404, type: 'text/plain', body: 'try /livez, /readyz or /metrics\n' }
  const reason = probe.notReady()
  return { status: reason ? 503 : 200, type: 'text/plain', body: `${reason ?? 'ok'}\n` }
}

/** Collecting takes up to 4 ms. */
const COLLECTIONS: RateLimit = { perSecond: 4, burst: 20 }

/**
 * Anyone may request metrics, so a flood gets copies that are at most 250 ms old. Concurrent requests share one
 * collection.
 * @param clock milliseconds, monotonic.
 */
export function limitCollections<T>(collect: () => Promise<T>, clock = () => performance.now()) {
  const collections = createTokenBucket(COLLECTIONS)
  let latest: Promise<T> | undefined
  let isCollecting = false
  return (): Promise<T> => {
    const now = clock()
    if (latest && (isCollecting || !collections.allows(now))) return latest
    collections.take(now)
    isCollecting = true
    latest = collect().finally(() => {
      isCollecting = false
    })
    return latest
  }
}

/** Bytes, which all clients share: Node copies a text for each that does not read its answer. */
const collected = limitCollections(async () => Buffer.from(await registry.metrics()))

/** Probes and scrapers open few connections. */
const CONNECTIONS = 200
const WAITING = { each: 4, all: 0 }
/** Prometheus gives up after 10 s. */
const UNREAD_MS = 10_000
/**
 * Node accepts one connection in each turn of its loop, and a turn answers all connections with a request. If they stayed
 * open, 400 that repeat requests would keep a probe waiting for more than a second.
 */
const CLOSE = { connection: 'close' }

/** @returns the port. */
export async function serveOps(options: {
  host: string
  port: number
  probe: Probe
}): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer(NODE_OPTIONS, (request, response) => {
    // Node still emits requests that it read before the connection was closed
    if (request.socket.destroyed) return
    // probes and scrapers send no body; 9 MB a second in chunks of one byte kept a probe waiting for 7 s
    if (hasBody(request)) {
      response.writeHead(400, CLOSE).end()
      // Node would read the body while an earlier answer is unread
      return closeUnread(request.socket)
    }
    if (isAmbiguous(request)) return void response.writeHead(400, CLOSE).end()
    const [path = '/'] = (request.url ?? '/').split('?')
    answerOps(path, options.probe).then(
      ({ status, type, body }) => response.writeHead(status, { 'content-type': type, ...CLOSE }).end(body),
      () => response.writeHead(500, CLOSE).end(),
    )
  })
  // all ports of a process share its limit of open files
  shareConnections(server, {
    most: CONNECTIONS,
    waiting: WAITING,
    unreadMs: UNREAD_MS,
    trustProxy: [],
    onRefused: () => {},
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, BACKLOG, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
