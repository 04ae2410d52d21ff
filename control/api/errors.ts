import { isUtf8 } from 'node:buffer'
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createChunks } from '../../http/chunks.ts'
import { hasBody } from '../../http/requests.ts'
import { isDeeper } from '../../process/json-depth.ts'
import { isObject } from '../../process/json-objects.ts'
import { pointer } from '../../process/json-pointer.ts'
import type { Logger } from '../../process/log.ts'
import { hasLongName, NAME_CHARS, withPlainNames } from '../../process/parse-json.ts'
import { type Code, meaningOf } from '../../settings/error-codes.ts'
import { isStreamed, send } from './operation.ts'
import { type ApiResponse, invalid, problem } from './response.ts'

export const notFound = problem({
  code: 'not_found',
  message: 'Nothing here: see /docs/api/ for the paths of this API',
})

export const invalidPath = problem({
  code: 'invalid_path',
  message: 'The path must be percent-encoded UTF-8',
})

const KNOWN: Record<string, ApiResponse> = {
  FST_ERR_CTP_INVALID_JSON_BODY: problem({
    code: 'invalid_json',
    message: 'The body must be valid JSON, without members named __proto__ or constructor.prototype',
  }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: problem({
    code: 'unsupported_media_type',
    message: 'Send JSON with Content-Type: application/json',
  }),
}

const tooLarge = (limit: number) =>
  problem({ code: 'body_too_large', message: `The body is too large: at most ${limit / 1024} KB here` })

const internal = problem({ code: 'internal', message: "Internal error: see Sluice's log" })

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply

export function createErrorHandler(log: Pick<Logger, 'error'>): ErrorHandler {
  return (error, { method, routeOptions }, reply) => {
    if (error instanceof RejectedBody) return send(reply, error.answer)
    const { code, status, message } = facts(error)
    const known = KNOWN[code]
    if (known) return send(reply, known)
    if (status < 500) return send(reply, problem({ code: 'bad_request', message }))
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

const NOT_HTTP: Record<string, Code> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/** Time to read the response. */
const LINGER_MS = 1_000

/** Invalid HTTP never reaches Fastify: Node expects the response on the socket. */
export function respondToBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const code = NOT_HTTP[error.code ?? ''] ?? 'bad_request'
  const { status, body } = problem({ code, message: meaningOf(code) })
  const text = JSON.stringify(body)
  const head = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ]
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${text}`)
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

class RejectedBody extends Error {
  readonly answer: ApiResponse

  constructor(answer: ApiResponse) {
    super('rejected body')
    this.answer = answer
  }
}

const MAX_LEVELS = 32
/** Of one object. Longer lists are arrays or uploads. */
const MAX_MEMBERS = 1_000

const tooDeep = problem({
  code: 'too_deep',
  message: `The body is nested too deep: at most ${MAX_LEVELS} levels`,
})

/** Other bytes would become U+FFFD, and a deletion or suppression would affect another user. */
const notUtf8 = problem({ code: 'invalid_json', message: 'The body must be UTF-8' })

const nameTooLong = problem({
  code: 'name_too_long',
  message: `A property name has more than ${NAME_CHARS.toLocaleString('en-US')} characters, as spelled in the JSON`,
})

/** Rejects other types, except on routes with their own parser. */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const { bodyLimit, config } = request.routeOptions
    // routes that take another type answer 415 unless they get a stream
    if (isStreamed(config.operation) && hasBody(payload)) return done(null, false)
    readBody(payload, bodyLimit, (failure, body) => {
      // many clients send the type with every request, even without a body
      if (failure || body.length === 0) return done(failure, undefined)
      if (!isUtf8(body)) return done(new RejectedBody(notUtf8))
      // recursive code would exhaust the stack
      if (isDeeper(body, MAX_LEVELS)) return done(new RejectedBody(tooDeep))
      const whole = body.toString()
      if (hasLongName(whole)) return done(new RejectedBody(nameTooLong))
      const { text, restore } = withPlainNames(whole)
      parse(request, text, (error, parsed) => {
        if (error) return done(error)
        const value = restore(parsed)
        const crowdedPath = findCrowded(value, [])
        if (crowdedPath === undefined) return done(null, value)
        const message = `has too many members: at most ${MAX_MEMBERS.toLocaleString('en-US')}`
        done(new RejectedBody(invalid([{ pointer: pointer(crowdedPath), code: 'too_many', message }])))
      })
    })
  })
}

/**
 * Joins chunks, which Fastify would keep separately. Anyone may send a sign-in: 4 KB in chunks of one byte took 900 KB.
 * @param ended called once: when the body is complete, breaks off, or becomes too large.
 */
function readBody(
  payload: IncomingMessage,
  limit: number,
  ended: (failure: Error | null, body: Buffer) => void,
): void {
  const chunks = createChunks()
  function stop(failure: Error | null): void {
    payload.off('data', take).off('end', end).off('error', fail)
    ended(failure, chunks.join())
  }
  const end = () => stop(null)
  const fail = (error: Error) => stop(Object.assign(error, { statusCode: 400 }))
  function take(chunk: Buffer): void {
    if (chunks.size() + chunk.length > limit) stop(new RejectedBody(tooLarge(limit)))
    else chunks.add(chunk)
  }
  if (Number(payload.headers['content-length']) > limit) stop(new RejectedBody(tooLarge(limit)))
  else payload.on('data', take).on('end', end).on('error', fail)
}

function findCrowded(
  value: unknown,
  path: readonly (string | number)[],
): readonly (string | number)[] | undefined {
  if (!Array.isArray(value) && !isObject(value)) return undefined
  const members = Object.entries(value)
  if (!Array.isArray(value) && members.length > MAX_MEMBERS) return path
  for (const [name, member] of members) {
    const found = typeof member === 'object' ? findCrowded(member, [...path, name]) : undefined
    if (found) return found
  }
  return undefined
}
