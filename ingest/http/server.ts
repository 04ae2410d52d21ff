import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { endInTime, shareConnections } from '../../http/connections.ts'
import { CONNECTIONS, HEADER_BYTES, type Patience } from '../limits.ts'
import type { Meter } from '../meter/metrics.ts'
import { CUT } from './body.ts'
import { createAnswerBroken } from './broken.ts'
import { endUnread } from './unread.ts'

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
  routerOptions: { ignoreTrailingSlash: true },
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
