import type { FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../process/json-objects.ts'
import type { CallType } from '../../settings/settings.ts'
import type { RequestTrace } from '../../trace/trace.ts'
import { type Answer, CORS, type Code, errorAnswer, SUCCESS } from '../answer.ts'
import { isCallType } from '../call/accept.ts'
import { keyOutside, type RouteType } from '../call/authenticate.ts'
import { BATCH_BYTES, CALL_BYTES, GZIP_COST } from '../limits.ts'
import type { CountRefused, CountUnpacked, Ingest, Precheck } from '../pipeline.ts'
import {
  type BodyLimit,
  discardBody,
  drain,
  type End,
  encodingOf,
  inflatedBytes,
  type MemoryLimit,
  readBody,
  requestBytes,
  unpack,
} from './body.ts'
import { closeAtEnd, forgetHeaders, type Respond } from './reply.ts'
import { decodeData } from './url.ts'

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

export type ReceiveOptions = {
  ingest: Ingest
  precheck: Precheck
  countUnpacked: CountUnpacked
  countRefused: CountRefused
  memory: MemoryLimit
  respond: Respond
  traced: ((request: FastifyRequest) => RequestTrace) | undefined
}

/** A code refuses the call; its body is not read, or not whole. */
type Begun = { answer: Promise<Answer> } | Code | 'gone'

const CALL: BodyLimit = { bytes: CALL_BYTES, code: 'call_too_large' }
const BATCH: BodyLimit = { bytes: BATCH_BYTES, code: 'batch_too_large' }

export function receive(type: RouteType, options: ReceiveOptions): Handler {
  const { ingest, precheck, countUnpacked, countRefused, memory, respond, traced } = options
  const limit = type === 'batch' ? BATCH : CALL

  /** Holds the body only until its calls are decided on. */
  async function begin(
    request: FastifyRequest,
    { raw: response }: FastifyReply,
    trace: RequestTrace | undefined,
  ): Promise<Begun> {
    const { raw, headers, query, ip } = request
    const exchange = { request: raw, response }
    const target = { type, writeKey: keyOutside(headers.authorization, query) }
    const early = precheck(target, ip)
    if (early)
      return (await drain(exchange, limit.bytes)) === 'gone' ? 'gone' : { answer: Promise.resolve(early) }
    using lease = memory.open(ip)
    const wire = await readBody(exchange, limit, lease)
    if (!wire.ok) {
      const isAnonymous = target.writeKey === undefined
      if (isAnonymous && wire.cost > 0 && wire.code !== 'unavailable') countUnpacked(target, ip, wire.cost)
      return wire.code
    }
    // other bodies may have arrived in the meantime
    const late = precheck(target, ip)
    if (late) return { answer: Promise.resolve(late) }
    const encoding = headers['content-encoding']
    const cost = wire.cost * (encodingOf(encoding) === 'gzip' ? GZIP_COST : 1)
    const sent = { ...target, wire: { bytes: wire.bytes.length, cost } }
    const body = unpack(wire.bytes, { encoding, limit, lease })
    if (!body.ok) {
      countUnpacked(sent, ip, inflatedBytes(wire.bytes.length, limit.bytes))
      return body.code
    }
    return { answer: ingest({ ...sent, body: body.bytes }, ip, trace) }
  }

  function refused({ headers, query }: FastifyRequest, code: Code): Answer {
    countRefused(type, code, keyOutside(headers.authorization, query))
    return errorAnswer(code)
  }

  return async (request, reply) => {
    using trace = traced?.(request)
    using lease = memory.open(request.ip)
    const hasRoom = lease.add(requestBytes(request.raw))
    const begun = hasRoom ? await begin(request, reply, trace) : 'unavailable'
    if (begun === 'gone') return trace?.gone()
    const answer = typeof begun === 'object' ? await begun.answer : refused(request, begun)
    trace?.answered(answer)
    respond(reply, answer)
  }
}

/** Discards the metrics that client libraries send about themselves. */
export function receiveMetrics({ memory, respond }: Pick<ReceiveOptions, 'memory' | 'respond'>): Handler {
  return async ({ raw: request, ip }, reply) => {
    const exchange = { request, response: reply.raw }
    const end = await new Promise<End>((resolve) => discardBody(exchange, memory.open(ip), resolve))
    if (end !== 'gone') respond(reply, end === 'end' ? SUCCESS : errorAnswer(end))
  }
}

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const HEADERS = { ...CORS, 'content-type': 'image/gif', 'cache-control': 'no-store, max-age=0' }

/** The page gets its image even if the call is rejected. */
export function sendPixel(reply: FastifyReply): void {
  closeAtEnd(reply)
  forgetHeaders(reply.request.raw)
  reply.code(200).headers(HEADERS).send(GIF)
}

/** @returns the code that the other routes would answer. */
export async function ingestPixel(
  { params, query, headers, ip, raw }: Pick<FastifyRequest, 'params' | 'query' | 'headers' | 'ip' | 'raw'>,
  {
    ingest,
    precheck,
    countRefused,
    memory,
  }: Pick<ReceiveOptions, 'ingest' | 'precheck' | 'countRefused' | 'memory'>,
  trace?: RequestTrace,
): Promise<Answer['code']> {
  const type = field(params, 'type')
  const writeKey = keyOutside(headers.authorization, query)
  if (!isCallType(type)) return refused('unknown', 'unknown_type')
  const body = decodeData(field(query, 'data'))
  if (body.length > CALL_BYTES) return refused(type, 'call_too_large')
  using lease = memory.open(ip)
  if (!lease.add(requestBytes(raw) + body.length)) return refused(type, 'unavailable')
  const target = { type, writeKey }
  return (precheck(target, ip) ?? (await ingest({ ...target, body, isPixel: true }, ip, trace))).code

  function refused(of: CallType | 'unknown', code: Code): Code {
    countRefused(of, code, writeKey)
    return code
  }
}

const field = (from: unknown, name: string): unknown => (isObject(from) ? from[name] : undefined)
