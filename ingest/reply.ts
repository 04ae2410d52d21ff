import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, CORS, errorAnswer } from './answer.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

export function send(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  // a connection kept after its answer would hold up the end of the process
  if (!reply.server.server.listening) reply.header('connection', 'close')
  reply.code(status).header('content-type', JSON_TYPE).headers(CORS)
  if (headers) reply.headers(headers)
  return reply.send(body)
}

/** How long a client may go on writing what is not wanted. */
const LINGER_MS = 10_000

/**
 * Answers a request whose body is not read to its end, then closes the connection: but only when the client has written
 * all of it, or has had its time. Closed earlier, the system would reset the connection and the answer be lost.
 */
export function sendAndLinger(
  { raw: request }: FastifyRequest,
  reply: FastifyReply,
  { status, body }: Answer,
): void {
  reply.hijack()
  const response = reply.raw
  const length = Buffer.byteLength(body)
  response.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': length,
    connection: 'close',
    ...CORS,
  })
  response.write(body)
  const timer = setTimeout(close, LINGER_MS)
  function close(): void {
    clearTimeout(timer)
    response.end()
  }
  request.once('end', close).once('close', close).resume()
}

/** For what is no HTTP, or too slow: Node's parser has given up, so the answer is written by hand. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, body } = errorAnswer('bad_request')
  const head = `HTTP/1.1 ${status} Bad Request\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}`
  socket.end(`${head}\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n${body}`)
}
