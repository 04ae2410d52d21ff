import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'
import { closeUnread } from '../../http/close-unread.ts'
import { hasBody } from '../../http/requests.ts'
import type { CountUnread } from '../../http/unread.ts'
import { type Answer, CORS, JSON_TYPE } from '../answer.ts'
import { CUT, discard } from './body.ts'

export type Respond = (reply: FastifyReply, answer: Answer) => void

type RespondOptions = {
  answered: (code: Answer['code']) => void
  countUnread: CountUnread
  lingerMs: number
}

export function createRespond({ answered, countUnread, lingerMs }: RespondOptions): Respond {
  return (reply, answer) => {
    answered(answer.code)
    const request = reply.request.raw
    const unread = isUnread(request)
    countUnread(reply, Buffer.byteLength(answer.body))
    forgetHeaders(request)
    if (answer.code === 'too_many_chunks') sendAndClose(reply, answer)
    else if (unread) sendAndLinger(reply, answer, lingerMs)
    else send(reply, answer)
  }
}

/** Frees the URL, with Fastify's copy, and the headers while the answer waits for earlier ones. */
export function forgetHeaders(request: IncomingMessage & { originalUrl?: string }): void {
  request.rawHeaders = []
  request.headers = {}
  request.url = ''
  request.originalUrl = ''
  request.rawTrailers = []
}

function send(reply: FastifyReply, { status, body, headers }: Answer): void {
  closeAtEnd(reply)
  reply.code(status).header('content-type', JSON_TYPE).headers(CORS)
  if (headers) reply.headers(headers)
  reply.send(body)
}

/** Closes the connection during shutdown, and after an unread body, which Node would otherwise read first. */
export function closeAtEnd(reply: FastifyReply): void {
  if (!reply.server.server.listening || isUnread(reply.request.raw)) reply.header('connection', 'close')
}

export const isUnread = (request: IncomingMessage): boolean => !request.readableEnded && hasBody(request)

/**
 * Answers before the whole body was read. Closes the connection after the rest or `lingerMs`: a reset would lose the
 * answer.
 */
function sendAndLinger(reply: FastifyReply, answer: Answer, lingerMs: number): void {
  const { request, response } = writeLast(reply, answer)
  const take = discard()
  request.on('data', (chunk: Buffer) => {
    if (take(chunk)) closeUnread(request.socket)
  })
  const timer = setTimeout(close, lingerMs)
  function close(): void {
    clearTimeout(timer)
    forgetHeaders(request) // trailers came after the answer
    response.end()
  }
  request.once('end', close).once('close', close).once(CUT, close).resume()
  if (request.socket.readableEnded) close()
}

/**
 * Parses nothing more: Node would first parse up to 2 MB. Does not end the response, because Node would then close the
 * connection at once.
 */
function sendAndClose(reply: FastifyReply, answer: Answer): void {
  closeUnread(writeLast(reply, answer).request.socket)
}

function writeLast(reply: FastifyReply, { status, body, headers }: Answer) {
  reply.hijack()
  const { raw: response } = reply
  response.writeHead(status, {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...CORS,
    ...headers,
  })
  response.write(body)
  return { request: reply.request.raw, response }
}
