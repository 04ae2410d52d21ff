import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import { type Answer, CORS, JSON_TYPE } from '../answer.ts'
import { CUT } from './body.ts'

export type Respond = (reply: FastifyReply, answer: Answer) => void

type RespondOptions = {
  /** Told of each answer. */
  answered: (code: Answer['code']) => void
  /** How long a client may go on writing what is not wanted, in milliseconds. */
  lingerMs: number
}

/** The one way in which a request is answered in JSON. */
export function createRespond({ answered, lingerMs }: RespondOptions): Respond {
  return (reply, answer) => {
    answered(answer.code)
    const request = reply.request.raw
    const unread = isUnread(request)
    forgetHeaders(request)
    if (unread) sendAndLinger(reply, answer, lingerMs)
    else send(reply, answer)
  }
}

/** An answer may have to wait for those to earlier requests of its connection: many that do must not keep what came with each. */
export function forgetHeaders(request: IncomingMessage): void {
  request.rawHeaders = []
  request.headers = {}
  request.url = ''
}

function send(reply: FastifyReply, { status, body, headers }: Answer): void {
  closeAtEnd(reply)
  reply.code(status).header('content-type', JSON_TYPE).headers(CORS)
  if (headers) reply.headers(headers)
  reply.send(body)
}

/** A connection kept after its answer would hold up the end of the process. */
export function closeAtEnd(reply: FastifyReply): void {
  if (!reply.server.server.listening) reply.header('connection', 'close')
}

/** More of its body may come. */
export function isUnread({ readableEnded, headers }: IncomingMessage): boolean {
  if (readableEnded) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Answers a request whose body is not read to its end, then closes the connection: but only when the client has written
 * all of it, or has had its time. Closed earlier, the system would reset the connection and the answer be lost.
 */
function sendAndLinger(reply: FastifyReply, { status, body, headers }: Answer, lingerMs: number): void {
  reply.hijack()
  const { raw: response } = reply
  const { raw: request } = reply.request
  response.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...CORS,
    ...headers,
  })
  response.write(body)
  const timer = setTimeout(close, lingerMs)
  function close(): void {
    clearTimeout(timer)
    response.end()
  }
  request.once('end', close).once('close', close).once(CUT, close).resume()
  if (request.socket.readableEnded) close()
}
