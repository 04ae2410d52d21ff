import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestTrace } from '../../trace/trace.ts'
import { type Answer, CORS, type Code, errorAnswer, SUCCESS } from '../answer.ts'
import { type CallType, isCallType } from '../call/accept.ts'
import { isObject } from '../call/json.ts'
import { keyOutside, type RouteType } from '../call/sender.ts'
import { BATCH_BYTES, CALL_BYTES } from '../limits.ts'
import type { Meter } from '../metrics.ts'
import type { Forestall, Take } from '../take.ts'
import type { Strangers } from '../throttle.ts'
import {
  type BodyLimit,
  consume,
  drain,
  dropped,
  type End,
  type Hold,
  inflatedBytes,
  readBody,
  requestBytes,
  unpack,
} from './body.ts'
import { closeAtEnd, forgetHeaders, type Respond } from './reply.ts'

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

export type ReceiveOptions = {
  take: Take
  forestall: Forestall
  strangers: Pick<Strangers, 'refused'>
  hold: Hold
  respond: Respond
  meter: Pick<Meter, 'refused'>
  /** Begins what a trace tells of a request; undefined while traces are off. */
  traced: ((request: FastifyRequest) => RequestTrace) | undefined
}

const CALL: BodyLimit = { bytes: CALL_BYTES, code: 'call_too_large' }
const BATCH: BodyLimit = { bytes: BATCH_BYTES, code: 'batch_too_large' }

/** What a route for calls does: reads a request, hands its bytes to `take`, and sends what that answers. */
export function receive(type: RouteType, options: ReceiveOptions): Handler {
  const { take, forestall, strangers, hold, respond, meter, traced } = options
  const limit = type === 'batch' ? BATCH : CALL

  function answer(reply: FastifyReply, given: Answer, trace: RequestTrace | undefined): void {
    trace?.answered(given)
    respond(reply, given)
  }

  function refuse(code: Code, reply: FastifyReply, trace: RequestTrace | undefined): void {
    meter.refused(type, code)
    answer(reply, errorAnswer(code), trace)
  }

  /** Its answer is on the way. */
  type Taken = { taken: Promise<Answer> }

  async function begin(
    request: FastifyRequest,
    { raw: response }: FastifyReply,
    trace: RequestTrace | undefined,
  ): Promise<Taken | Code | 'gone'> {
    const { raw, headers, query, ip } = request
    const exchange = { request: raw, response }
    const named = { type, writeKey: keyOutside(headers.authorization, query) }
    const isStranger = named.writeKey === undefined
    const early = isStranger ? undefined : forestall(named, ip)
    if (early)
      return (await drain(exchange, limit.bytes)) === 'gone' ? 'gone' : { taken: Promise.resolve(early) }
    using lease = hold.open(ip)
    const wire = await readBody(exchange, limit, lease)
    if (!wire.ok) return wire.code
    const late = isStranger ? forestall(named, ip) : undefined
    if (late) return { taken: Promise.resolve(late) }
    const body = unpack(wire.bytes, { encoding: headers['content-encoding'], limit, lease })
    if (!body.ok) {
      if (isStranger) strangers.refused(ip, inflatedBytes(wire.bytes.length, limit.bytes))
      return body.code
    }
    return { taken: take({ ...named, body: body.bytes, wireBytes: wire.bytes.length }, ip, trace) }
  }

  return async (request, reply) => {
    using trace = traced?.(request)
    using lease = hold.open(request.ip)
    if (!lease.add(requestBytes(request.raw))) return refuse('unavailable', reply, trace)
    // judged, a request no longer needs its body: what it comes to waits for Kafka in the queue, which has a bound of its own
    const begun = await begin(request, reply, trace)
    if (typeof begun === 'object') answer(reply, await begun.taken, trace)
    else if (begun === 'gone') trace?.gone()
    else refuse(begun, reply, trace)
  }
}

/** Client libraries report on themselves here, which nobody reads: it is taken, and dropped as it comes. */
export function receiveMetrics(respond: Respond): Handler {
  return async ({ raw: request }, reply) => {
    const exchange = { request, response: reply.raw }
    const end = await new Promise<End>((resolve) => consume(exchange, dropped, resolve))
    if (end !== 'gone') respond(reply, end === 'end' ? SUCCESS : errorAnswer(end))
  }
}

/** One transparent pixel. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const HEADERS = { ...CORS, 'content-type': 'image/gif', 'cache-control': 'no-store, max-age=0' }

/** Whatever comes of its call, the page that shows the image gets one. */
export function sendPixel(reply: FastifyReply): void {
  closeAtEnd(reply)
  forgetHeaders(reply.request.raw)
  reply.code(200).headers(HEADERS).send(GIF)
}

/** Takes the call that a pixel's URL carries, as any other. @returns the code that another route would answer. */
export async function takePixel(
  { params, query, headers, ip, raw }: Pick<FastifyRequest, 'params' | 'query' | 'headers' | 'ip' | 'raw'>,
  { take, forestall, hold, meter }: Pick<ReceiveOptions, 'take' | 'forestall' | 'hold' | 'meter'>,
  trace?: RequestTrace,
): Promise<Answer['code']> {
  const type = field(params, 'type')
  if (!isCallType(type)) return refused('unknown', 'unknown_type')
  const body = decodeData(field(query, 'data'))
  if (body.length > CALL_BYTES) return refused(type, 'call_too_large')
  using lease = hold.open(ip)
  if (!lease.add(requestBytes(raw) + body.length)) return refused(type, 'unavailable')
  const named = { type, writeKey: keyOutside(headers.authorization, query) }
  return (forestall(named, ip) ?? (await take({ ...named, body, isPixel: true }, ip, trace))).code

  function refused(of: CallType | 'unknown', code: Code): Code {
    meter.refused(of, code)
    return code
  }
}

/** Base64 or base64url, whose padding may be missing; queries have a space for a plus sign. */
function decodeData(data: unknown): Buffer {
  return typeof data === 'string' ? Buffer.from(data.replaceAll(' ', '+'), 'base64') : Buffer.alloc(0)
}

const field = (from: unknown, name: string): unknown => (isObject(from) ? from[name] : undefined)
