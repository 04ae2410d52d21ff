import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { parse } from 'node:querystring'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { endInTime, shareConnections } from '../../http/connections.ts'
import { type Answer, CORS, type Code, errorAnswer, JSON_TYPE } from '../answer.ts'
import { CONNECTIONS, HEADER_BYTES, type Patience, QUERY_FIELDS } from '../limits.ts'
import type { Meter } from '../metrics.ts'
import { CUT } from './body.ts'

export type ServerOptions = {
  patience: Patience
  meter: Pick<Meter, 'answered' | 'refusedConnection' | 'watchConnections'>
  /** Open ones at most. */
  connections?: number | undefined
  trustProxy?: readonly string[] | undefined
  notFound: (request: FastifyRequest, reply: FastifyReply) => void
}

/** An HTTP server without routes, guarded against clients that are slow, too many, or speak no HTTP. */
export function createServer({ patience, meter, ...options }: ServerOptions): FastifyInstance {
  const trustProxy = options.trustProxy ?? []
  const app = fastify({
    ...fastifyOptions(patience),
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    clientErrorHandler: (error, socket) => answerBroken({ error, socket }),
    frameworkErrors: (_error, request, reply) => options.notFound(request, reply),
  })
  // routes read bodies themselves: see body.ts
  for (const method of app.supportedMethods) app.addHttpMethod(method, { overrideExisting: true })
  const { server } = app
  server.on('connection', (socket: Socket) => {
    // at a CONNECT Node takes its own listener off: without another a client's reset would end the process
    socket.on('error', () => {})
    // nothing more comes of a body that is not whole
    socket.once('end', () => lastResponse(socket)?.req.emit(CUT, 'bad_request'))
  })
  const { open, lastResponse } = shareConnections(server, {
    most: options.connections ?? CONNECTIONS,
    trustProxy,
    onRefused: meter.refusedConnection,
  })
  const answerBroken = createAnswerBroken({
    lastResponse,
    answered: meter.answered,
    lingerMs: patience.lingerMs,
  })
  meter.watchConnections(server)
  takeAll(server)
  endUnread(server, open, patience.idleMs)
  endInTime(app, patience.closingMs)
  app.addHook('preClose', async () => {
    // Node lets go only of those between two requests
    for (const socket of open) if (lastResponse(socket)?.writableFinished ?? true) socket.destroy()
  })
  return app
}

const fastifyOptions = (patience: Patience) => ({
  http: {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: patience.headersMs,
    connectionsCheckingInterval: patience.checkMs,
    // Node's own answer to a request without Host has no body
    requireHostHeader: false,
  },
  requestTimeout: patience.requestMs,
  keepAliveTimeout: patience.keepAliveMs,
  routerOptions: {
    ignoreTrailingSlash: true,
    querystringParser: (text: string) => parse(text, '&', '=', { maxKeys: QUERY_FIELDS }),
  },
  // what comes on an open connection while this process ends is still taken
  return503OnClosing: false,
})

/** What Node would else answer by itself, or lose. */
function takeAll(server: Server): void {
  // routes say when they want the body; other expectations are ignored, which HTTP allows
  for (const event of ['checkContinue', 'checkExpectation'])
    server.on(event, (request, response) => server.emit('request', request, response))
  // CONNECT: this is no proxy
  server.on('connect', (_request, socket) => server.emit('clientError', new Error('CONNECT'), socket))
  // a client that writes its request, then closes its side, waits for an answer: Node's own switch, not in its manual
  Object.assign(server, { httpAllowHalfOpen: true })
}

type BrokenOptions = {
  /** The response to the request that came last on a connection. */
  lastResponse(socket: Socket): ServerResponse | undefined
  answered: (code: Answer['code']) => void
  /** How long a client may go on writing after the answer, in milliseconds. */
  lingerMs: number
}

type Broken = { error: NodeJS.ErrnoException; socket: Socket }

/** Answers what Node's parser has given up: no HTTP, too large a head, or too slow. In order: after what came before it. */
export function createAnswerBroken({ lastResponse, answered, lingerMs }: BrokenOptions) {
  function byHand(socket: Socket, code: Code): void {
    if (!socket.writable) return
    answered(code)
    socket.end(printed(errorAnswer(code)))
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
  }

  return ({ error, socket }: Broken): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    const code = codeOf(error)
    const last = lastResponse(socket)
    if (!last || (last.req.complete && last.writableFinished)) byHand(socket, code)
    else if (last.req.complete) last.once('close', () => byHand(socket, code))
    // its answer is out, and it is the rest of its body that does not come; one that lingers has a time of its own
    else if (last.headersSent && !last.writableFinished) return
    else if (!last.req.emit(CUT, code)) socket.destroy()
  }
}

function codeOf({ code }: NodeJS.ErrnoException): Code {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'
}

/** As HTTP/1.1; no response of Node's is there to do it. */
function printed({ status, body }: Answer): string {
  const headers = {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...CORS,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

/**
 * Ends connections whose client does not read its answers: of what waits to be written nothing has gone in `idleMs`. Node's
 * own time-out of sockets would do it too, but its timer is moved at each read and write, which costs a call 2 us.
 */
export function endUnread(server: Server, open: ReadonlySet<Socket>, idleMs: number): void {
  let before = new Map<Socket, number>()
  const timer = setInterval(() => {
    const waiting = [...open].filter(({ writableLength }) => writableLength > 0)
    for (const socket of waiting) if (before.get(socket) === gone(socket)) socket.destroy()
    before = new Map(waiting.map((socket) => [socket, gone(socket)]))
  }, idleMs).unref()
  server.once('close', () => clearInterval(timer))
}

/** Bytes that the client's side has taken. */
const gone = ({ bytesWritten, writableLength }: Socket): number => bytesWritten - writableLength
