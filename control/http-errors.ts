import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../log.ts'
import { type Answer, problem } from './answer.ts'
import { send } from './http.ts'

export const notFound = problem(404, {
  code: 'not_found',
  message: 'There is nothing at this path. The API: /api/sources, /api/destinations, /api/suppressions.',
})

/** Fastify's refusals before a handler runs, in our words. */
const KNOWN: Record<string, Answer> = {
  FST_ERR_CTP_INVALID_JSON_BODY: problem(400, {
    code: 'invalid_json',
    message: 'Send a body that is valid JSON',
  }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: problem(415, {
    code: 'unsupported_media_type',
    message: 'Send JSON with Content-Type: application/json',
  }),
  FST_ERR_CTP_BODY_TOO_LARGE: problem(413, { code: 'body_too_large', message: 'A body has at most 1 MB' }),
  FST_ERR_BAD_URL: problem(400, {
    code: 'invalid_path',
    message: 'Send a path that is percent-encoded UTF-8',
  }),
  FST_ERR_MAX_PARAM_LENGTH: notFound,
}

const internal = problem(500, { code: 'internal', message: 'A fault of Sluice: its log says more' })

type AnswerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

export function errorAnswerer(log: Pick<Logger, 'error'>): AnswerError {
  return (error, { method, routeOptions }, reply) => {
    const { code, status, message } = facts(error)
    const known = KNOWN[code]
    if (known) return send(reply, known)
    if (status < 500) return send(reply, problem(status, { code: 'bad_request', message }))
    log.error({ err: error, method, route: routeOptions.url }, 'a request failed')
    return send(reply, internal)
  }
}

function facts(error: unknown): { code: string; status: number; message: string } {
  const found = { code: '', status: 500, message: '' }
  if (!(error instanceof Error)) return found
  if ('code' in error) found.code = String(error.code)
  if ('statusCode' in error) found.status = Number(error.statusCode)
  return { ...found, message: error.message }
}

const NOT_HTTP: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** What cannot be read as HTTP never gets to Fastify; Node asks that it be answered on the socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const status = NOT_HTTP[error.code ?? ''] ?? 400
  const { body } = problem(status, {
    code: 'invalid_request',
    message: `${STATUS_CODES[status]}: not a request that can be read`,
  })
  const text = JSON.stringify(body)
  const head = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ]
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${text}`)
}
