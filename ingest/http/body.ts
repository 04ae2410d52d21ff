import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { createChunks, limitChunks } from '../../http/chunks.ts'
import { holderOf } from '../../http/rate-limit.ts'
import { limitFor } from '../../process/shared-room.ts'
import type { Code } from '../answer.ts'
import {
  BODY_CHUNKS,
  CHUNK_COST,
  FIELD_BYTES,
  GZIP_EXTRA,
  GZIP_FREE,
  GZIP_TIMES,
  REQUEST_BYTES,
} from '../limits.ts'

/** `gone`: the client has closed its connection. */
export type Unread = { ok: false; code: Code | 'gone' }
export type Body = { ok: true; bytes: Buffer } | Unread
/** `cost`: of receiving it, in bytes of cheap JSON. */
export type ReceivedBody = Body & { cost: number }

export type BodyLimit = { bytes: number; code: 'call_too_large' | 'batch_too_large' }

/** Event of a request whose body ends too early, with the code to answer. */
export const CUT = 'cut'

export type Exchange = { request: IncomingMessage; response: ServerResponse }

/** Reads a body as sent. Its memory counts on the lease. */
export function readBody(exchange: Exchange, limit: BodyLimit, lease: Lease): Promise<ReceivedBody> {
  switch (encodingOf(exchange.request.headers['content-encoding'])) {
    case 'none':
      return collect(exchange, limit, lease)
    case 'gzip':
      return collect(exchange, { ...limit, bytes: limit.bytes + GZIP_EXTRA }, lease)
    case undefined:
      return Promise.resolve({ ok: false, code: 'unsupported_encoding', cost: 0 })
  }
}

export function unpack(
  wire: Buffer,
  { encoding, limit, lease }: { encoding: string | undefined; limit: BodyLimit; lease: Lease },
): Body {
  if (encodingOf(encoding) !== 'gzip') return { ok: true, bytes: wire }
  const most = inflatedBytes(wire.length, limit.bytes)
  const bytes = inflate(wire, most)
  if (bytes === 'too_large') return { ok: false, code: most < limit.bytes ? 'inflates_too_much' : limit.code }
  if (bytes === 'broken') return { ok: false, code: 'invalid_encoding' }
  return lease.add(bytes.length) ? { ok: true, bytes } : { ok: false, code: 'unavailable' }
}

/** Discards a body of at most `most` bytes, to reuse the connection. Does nothing if the client sent Expect. */
export function drain(exchange: Exchange, most: number): Promise<'gone' | 'over'> {
  const { expect, 'content-length': length } = exchange.request.headers
  if (expect !== undefined || Number(length) > most) return Promise.resolve('over')
  const isDiscardable = discard()
  let size = 0
  function count(chunk: Buffer): Code | undefined {
    size += chunk.length
    return size > most ? 'batch_too_large' : isDiscardable(chunk)
  }
  return new Promise((resolve) =>
    readChunks(exchange, count, (end) => resolve(end === 'gone' ? 'gone' : 'over')),
  )
}

function collect(exchange: Exchange, limit: BodyLimit, lease: Lease): Promise<ReceivedBody> {
  if (Number(exchange.request.headers['content-length']) > limit.bytes)
    return Promise.resolve({ ok: false, code: limit.code, cost: 0 })
  const chunks = createChunks()
  let count = 0
  function collectChunk(chunk: Buffer): Code | undefined {
    count += 1
    if (count > BODY_CHUNKS) return 'too_many_chunks'
    if (chunks.size() + chunk.length > limit.bytes) return limit.code
    if (!lease.add(chunk.length)) return 'unavailable'
    chunks.add(chunk)
    return undefined
  }
  return new Promise((resolve) =>
    readChunks(exchange, collectChunk, (end) => {
      const bytes = chunks.join() // frees the chunks before the answer
      const cost = Math.max(bytes.length, count * CHUNK_COST)
      resolve(end === 'end' ? { ok: true, bytes, cost } : { ok: false, code: end, cost })
    }),
  )
}

export type End = Code | 'gone' | 'end'

/** Reads a body. Ignores the rest once `take` returns a code. Calls `ended` once. */
function readChunks(
  { request, response }: Exchange,
  take: (chunk: Buffer) => Code | undefined,
  ended: (end: End) => void,
): void {
  // the client asks first whether to send its body
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue()
  let isOver = false
  function stop(end: End): void {
    if (isOver) return
    isOver = true
    ended(end)
  }
  request.on('data', (chunk: Buffer) => {
    const code = isOver ? undefined : take(chunk)
    if (code) stop(code)
  })
  request.on('end', () => {
    // nothing counts them, and the answer may wait: 3,400 requests held 200 MB
    request.rawTrailers = []
    stop('end')
  })
  request.on(CUT, stop)
  request.on('close', () => stop('gone'))
}

/** Tells when a discarded body has too many chunks. */
export function discard(): (chunk: Buffer) => 'too_many_chunks' | undefined {
  const isOneTooMany = limitChunks()
  return (chunk) => (isOneTooMany(chunk) ? 'too_many_chunks' : undefined)
}

/** Reads and discards a body. Until its end, the headers count on the lease: clients may never send the end. */
export function discardBody(exchange: Exchange, lease: Lease, ended: (end: End) => void): void {
  function end(how: End): void {
    lease[Symbol.dispose]()
    ended(how)
  }
  if (lease.add(requestBytes(exchange.request))) readChunks(exchange, discard(), end)
  else end('unavailable')
}

export type Encoding = 'none' | 'gzip'

export function encodingOf(header: string | undefined): Encoding | undefined {
  switch (header?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return 'none'
    case 'gzip':
    case 'x-gzip':
      return 'gzip'
    default:
      return undefined
  }
}

export const inflatedBytes = (wire: number, limit: number): number =>
  Math.min(limit, Math.max(GZIP_FREE, wire * GZIP_TIMES))

/** zlib stops at most 16 KB beyond `limit`. Synchronous: 450 KB take only 0.4 ms. */
function inflate(bytes: Buffer, limit: number): Buffer | 'too_large' | 'broken' {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit })
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLarge ? 'too_large' : 'broken'
  }
}

export type Lease = Disposable & {
  /** @returns false, and adds nothing, beyond the limit. */
  add(bytes: number): boolean
}

export type MemoryLimit = { open(ip: string): Lease; bytes(): number }

/** Limits the bytes of all requests. Networks share them (on IPv6: sites), so none can get the others refused. */
export function createMemoryLimit(bound: number): MemoryLimit {
  let held = 0
  const heldBy = new Map<string, number>()
  return {
    bytes: () => held,
    open(ip) {
      const holder = holderOf(ip)
      let leased = 0
      return {
        add(bytes) {
          const before = heldBy.get(holder) ?? 0
          if (held + bytes > limitFor(before, bound)) return false
          held += bytes
          leased += bytes
          heldBy.set(holder, before + bytes)
          return true
        },
        [Symbol.dispose]() {
          held -= leased
          const left = (heldBy.get(holder) ?? 0) - leased
          if (left > 0) heldBy.set(holder, left)
          else heldBy.delete(holder)
          leased = 0
        },
      }
    },
  }
}

/** Fastify keeps the URL as sent, also where the query is not read (url.ts). */
type Head = Pick<IncomingMessage, 'url' | 'rawHeaders'> & { originalUrl?: string }

export function requestBytes({ url = '', originalUrl = url, rawHeaders }: Head): number {
  let bytes = REQUEST_BYTES + originalUrl.length * copiesOf(originalUrl)
  for (const text of rawHeaders) bytes += text.length + FIELD_BYTES
  // names are also properties
  for (let at = 0; at < rawHeaders.length; at += 2) bytes += (rawHeaders[at] ?? '').length + FIELD_BYTES
  return bytes
}

/** A decoded query is a second copy. Characters beyond ASCII may take two bytes. */
function copiesOf(url: string): number {
  if (/%[89a-f]/i.test(url)) return 3
  return /[+%]/.test(url) ? 2 : 1
}
