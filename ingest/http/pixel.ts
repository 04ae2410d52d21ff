import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RequestTrace } from '../../trace/trace.ts'
import { type Answer, CORS } from '../answer.ts'
import { type CallType, isCallType } from '../call/accept.ts'
import { isObject } from '../call/json.ts'
import { keyOutside } from '../call/write-key.ts'
import type { Code } from '../codes.ts'
import { CALL_BYTES } from '../limits.ts'
import { requestBytes } from './hold.ts'
import type { ReceiveOptions } from './receive.ts'
import { closeAtEnd, forgetHeaders } from './reply.ts'

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
  using lease = hold.open()
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
