import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyInstance, fastify } from 'fastify'
import { endInTime, keepUnused, NODE_OPTIONS, shareConnections } from '../../http/connections.ts'
import { connectionsWithin } from '../../http/open-files.ts'
import { dropForwardedPorts, withoutHost } from '../../http/requests.ts'
import { type Answer, CORS, type Code, errorAnswer, JSON_TYPE } from '../answer.ts'
import { CONNECTIONS, HEADER_BYTES, PATH_CHARS, type Timeouts, WAITING } from '../limits.ts'
import type { Meter } from '../metrics.ts'
import { CUT } from './body.ts'
import { parseQuery, readableUrl } from './url.ts'

export type ServerOptions = {
  timeouts: Timeouts
  meter: Pick<Meter, 'answered' | 'refusedConnection' | 'watchConnections'>
  connections?: number | undefined
  waiting?: typeof WAITING | undefined
  trustProxy?: readonly string[] | undefined
}

/** Protects against slow clients, too many clients, and clients that do not speak HTTP. */
export function createServer({ timeouts, meter, ...options }: ServerOptions): FastifyInstance {
  const trustProxy = options.trustProxy ?? []
  const app = fastify({
    ...fastifyOptions(timeouts),
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    rewriteUrl: ({ url = '/', method = '' }) => readableUrl({ url: withoutHost(url), method }),
    clientErrorHandler: keepUnused((error, socket) => answerBroken({ error, socket }), timeouts.keepAliveMs),
  })
  // routes read bodies themselves (body.ts)
  for (const method of app.supportedMethods) app.addHttpMethod(method, { overrideExisting: true })
  const { server } = app
  server.on('connection', (socket: Socket) => {
    // Node removes its own listener after a CONNECT: a client's reset would then end the process
    socket.on('error', () => {})
    // an incomplete body will not be completed
    socket.once('end', () => lastResponse(socket)?.req.emit(CUT, 'bad_request'))
  })
  const { open, lastResponse, nameClient } = shareConnections(server, {
    most: options.connections ?? connectionsWithin(CONNECTIONS),
    waiting: options.waiting ?? WAITING,
    unreadMs: timeouts.idleMs,
    trustProxy,
    onRefused: meter.refusedConnection,
  })
  const answerBroken = createAnswerBroken({
    lastResponse,
    answered: meter.answered,
    lingerMs: timeouts.lingerMs,
  })
  if (trustProxy.length > 0)
    app.addHook('onRequest', (request, reply, done) => {
      // before anything reads `ip`, which is not kept
      dropForwardedPorts(request.raw)
      nameClient(reply.raw, request.ip)
      done()
    })
  meter.watchConnections(server)
  handleAll(server)
  endInTime(app, open, timeouts.closingMs)
  app.addHook('preClose', async () => {
    // Node closes only connections between two requests
    for (const socket of open) if (lastResponse(socket)?.writableFinished ?? true) socket.destroy()
  })
  return app
}

const fastifyOptions = (timeouts: Timeouts) => ({
  http: {
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkMs,
    ...NODE_OPTIONS,
  },
  requestTimeout: timeouts.requestMs,
  keepAliveTimeout: timeouts.keepAliveMs,
  routerOptions: {
    ignoreTrailingSlash: true,
    querystringParser: parseQuery,
    maxParamLength: PATH_CHARS,
  },
  // open connections may still send requests while the process ends
  return503OnClosing: false,
})

/** Handles requests that Node would otherwise answer itself, or lose. */
function handleAll(server: Server): void {
  // routes send 100 Continue when they read the body
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  // this is no proxy
  server.on('connect', (_request, socket) => server.emit('clientError', new Error('CONNECT'), socket))
  // lets a client close its side and wait for the answer: an undocumented switch of Node
  Object.assign(server, { httpAllowHalfOpen: true })
}

type BrokenOptions = {
  lastResponse(socket: Socket): ServerResponse | undefined
  answered: (code: Answer['code']) => void
  lingerMs: number
}

type Broken = { error: NodeJS.ErrnoException; socket: Socket }

/** Answers what Node's parser rejects (no HTTP, too large a head, too slow), after earlier answers. */
function createAnswerBroken({ lastResponse, answered, lingerMs }: BrokenOptions) {
  const broken = new WeakSet<Socket>()

  function byHand(socket: Socket, code: Code): void {
    if (!socket.writable) return
    answered(code)
    socket.end(printed(errorAnswer(code)))
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
  }

  return ({ error, socket }: Broken): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy()
    // Node reports each read after the first error: with a listener for each, 100,000 bytes sent singly took 14 s
    if (broken.has(socket)) return
    broken.add(socket)
    const code = codeOf(error)
    const last = lastResponse(socket)
    if (!last || (last.req.complete && last.writableFinished)) byHand(socket, code)
    else if (last.req.complete) last.once('close', () => byHand(socket, code))
    // already answered; `sendAndLinger` closes it
    else if (last.headersSent && !last.writableFinished) return
    else if (!last.req.emit(CUT, code)) socket.destroy()
  }
}

function codeOf({ code }: NodeJS.ErrnoException): Code {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'
}

/** By hand, as there is no response object. */
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
