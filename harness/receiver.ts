import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { behaviours, type Exchange } from './behaviours.ts'

/** `at`: ms since 1970. `status`: undefined until it is answered. */
export type Arrival = {
  path: string
  body: string
  headers: IncomingHttpHeaders
  at: number
  status: number | undefined
}

export type Receiver = {
  url: string
  /** Stays empty with `onArrival`. */
  arrivals: Arrival[]
  /** `behave('/1', '/status/503')` makes a path behave like another one. */
  behave(path: string, as: string): void
  /** What `/switch` does: it answers this status, or never. */
  answerWith(status: number | 'hang'): void
  /** Closes its port and connections, or listens again on the same port. */
  refuse(isRefusing: boolean): Promise<void>
  close(): Promise<void>
}

export type ReceiverOptions = {
  /** Default: a free one. */
  port?: number
  tls?: ServerOptions
  /** Gets each request instead of `arrivals`, for runs that do not fit in memory. */
  onArrival?: (arrival: Arrival) => void
  /** Gets a request once its answer is on its way. */
  onAnswer?: (arrival: Arrival) => void
}

/** Fails as the path says (behaviours.ts). By hand: `node harness/receiver.ts 9000`. */
export async function startReceiver({
  port = 0,
  tls,
  onArrival,
  onAnswer = () => {},
}: ReceiverOptions = {}): Promise<Receiver> {
  const arrivals: Arrival[] = []
  const answers = createAnswers()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request)
    if (body === undefined) return
    const { url: path = '', headers } = request
    const arrival: Arrival = { path, body, headers, at: Date.now(), status: undefined }
    if (onArrival) onArrival(arrival)
    else arrivals.push(arrival)
    const answered = (status: number) => {
      arrival.status = status
      onAnswer(arrival)
    }
    response.on('finish', () => answered(response.statusCode))
    const deliveryId = String(headers['x-delivery-id'])
    answers.answer(path, { request, response, deliveryId, answered })
  }

  const server: Server = tls ? createTlsServer(tls, receive) : createServer(receive)
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const bound = await listen(server, port)
  let isListening = true
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${bound}`,
    arrivals,
    behave: answers.behave,
    answerWith: (status) => answers.behave('/switch', status === 'hang' ? '/hang' : `/status/${status}`),
    async refuse(isRefusing) {
      if (isRefusing !== isListening) return
      isListening = !isRefusing
      await (isRefusing ? close(server, sockets) : listen(server, bound))
    },
    close: () => close(server, sockets),
  }
}

function createAnswers() {
  const aliases = new Map([['/switch', '/status/200']])
  const times = new Map<string, number>()
  let before = 0
  return {
    behave: (path: string, as: string) => void aliases.set(path, as),
    answer(path: string, exchange: Pick<Exchange, 'request' | 'response' | 'deliveryId' | 'answered'>): void {
      const { response, deliveryId } = exchange
      const [, name = '', first, second] = (aliases.get(path) ?? path).split('/')
      const behave = Object.hasOwn(behaviours, name) ? behaviours[name] : undefined
      if (!behave) return void response.end('ok')
      behave({
        ...{ ...exchange, before: before++, first: Number(first), second: Number(second) },
        times() {
          times.set(deliveryId, (times.get(deliveryId) ?? 0) + 1)
          return times.get(deliveryId) ?? 1
        },
      })
    },
  }
}

/** Undefined if the connection ends before the body. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  return request.toArray().then(
    (chunks) => Buffer.concat(chunks).toString(),
    () => undefined,
  )
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // a TCP server's address is an object
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** `closeAllConnections` leaves sockets open that are in a TLS handshake. */
function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}

if (import.meta.main) {
  const receiver = await startReceiver({
    port: Number(process.argv[2] ?? 0),
    onArrival: ({ path, body, headers }) =>
      void process.stdout.write(`${path} ${headers['x-delivery-id']} ${body}\n`),
  })
  process.stdout.write(`listening on ${receiver.url}\n`)
}
