import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { onTestFinished, vi } from 'vitest'
import { Analytics, type Failure, type Options } from '../../../clients/node/index.ts'

/** `text` is decompressed. `connection` counts from 1. */
export type Arrival = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  text: string
  batch: Record<string, unknown>[]
  connection: number
  at: number
}

/** `hang`: never. `stall`: the body does not end. `reset`: closes the connection. `cut`: closes it within the body. */
export type Answer =
  | { status?: number; headers?: Record<string, string>; body?: string }
  | 'hang'
  | 'stall'
  | 'reset'
  | 'cut'

export type Service = {
  endpoint: string
  arrivals: Arrival[]
  open(): number
  /** All received calls in order. */
  calls(): Record<string, unknown>[]
}

type Answers = (arrival: Arrival, index: number) => Answer | Promise<Answer>

/** Closed at the end of the test. */
export async function startService(answers: Answers = () => ({})): Promise<Service> {
  const arrivals: Arrival[] = []
  const connections: Socket[] = []
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray().catch(() => undefined)
    // the client gave up before the request was read
    if (!chunks) return
    const raw = Buffer.concat(chunks)
    const { method = '', url: path = '', headers } = request
    const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString()
    const connection = connections.indexOf(request.socket) + 1
    const arrival = { method, path, headers, text, batch: JSON.parse(text).batch, connection, at: Date.now() }
    arrivals.push(arrival)
    give(response, await answers(arrival, arrivals.length - 1))
  })
  // must not keep clients running
  server.keepAliveTimeout = 600_000
  server.on('connection', (socket) => connections.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}/v1/batch`,
    arrivals,
    open: () => connections.filter(({ destroyed }) => !destroyed).length,
    calls: () => arrivals.flatMap(({ batch }) => batch),
  }
}

function give(response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return
  if (answer === 'reset') response.socket?.resetAndDestroy()
  else if (answer === 'stall') response.writeHead(200, { 'content-length': 100 }).write('{')
  else if (answer === 'cut') {
    response.writeHead(200, { 'content-length': 100 }).write('{', () => response.socket?.destroy())
  } else {
    const { status = 200, headers, body = '{"success":true}' } = answer
    response.writeHead(status, headers).end(body)
  }
}

/** No server uses port 9, and the system never assigns it to a test. */
export const DEAD_ENDPOINT = 'http://127.0.0.1:9/'

/** Sends only on flush(). Closed at the end of the test. */
export function clientOf(service: Pick<Service, 'endpoint'>, options: Partial<Options> = {}) {
  const failures: Failure[] = []
  const analytics = new Analytics({
    writeKey: 'shop-write-key',
    endpoint: service.endpoint,
    flushAt: 1_000_000,
    flushAfter: 600_000,
    retryBase: 1,
    closeTimeout: 0,
    onFailure: (failure) => void failures.push(failure),
    ...options,
  })
  onTestFinished(() => analytics.close().catch(() => {}))
  return { analytics, failures }
}

/** During the test, with their options. */
export function warnings(): unknown[][] {
  const emit = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => emit.mockRestore())
  return emit.mock.calls
}

export function gate(): { opened: Promise<void>; open: () => void } {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  return { opened, open }
}

export const track = (number: number) => ({ userId: 'u1', event: 'Counted', properties: { number } })

export const numbersOf = (calls: readonly Record<string, unknown>[]) =>
  calls.map(({ properties }) => (properties as { number: number }).number)

export function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
