import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { networkOf } from '../../http/rate-limit.ts'
import type { Code } from '../answer.ts'
import {
  FIELD_BYTES,
  GZIP_EXTRA,
  GZIP_FREE,
  GZIP_TIMES,
  HELD_LAST,
  HELD_LITTLE,
  REQUEST_BYTES,
} from '../limits.ts'

/** Why a body is not there to be judged; `gone` when nobody is left to answer. */
export type Unread = { ok: false; code: Code | 'gone' }
export type Body = { ok: true; bytes: Buffer } | Unread

/** `code` is that of a body with more than `bytes`. */
export type BodyLimit = { bytes: number; code: 'call_too_large' | 'batch_too_large' }

/** Emitted on a request whose body ends before it is whole, with the code of the answer to it. */
export const CUT = 'cut'

/** A request, and where its answer goes. */
export type Exchange = { request: IncomingMessage; response: ServerResponse }

/** Reads a body as it comes; what it holds is on the lease until its owner disposes of that. */
export function readBody(exchange: Exchange, limit: BodyLimit, lease: Lease): Promise<Body> {
  switch (encodingOf(exchange.request.headers['content-encoding'])) {
    case 'none':
      return collect(exchange, limit, lease)
    case 'gzip':
      return collect(exchange, { ...limit, bytes: limit.bytes + GZIP_EXTRA }, lease)
    case undefined:
      return Promise.resolve({ ok: false, code: 'unsupported_encoding' })
  }
}

/** What was read, inflated. */
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

/**
 * Reads a body that nobody wants, so that the connection can be used again. One with more than `most` bytes is left, and so is one whose client
 * asks first whether to send it.
 */
export function drain(exchange: Exchange, most: number): Promise<'gone' | 'over'> {
  const { expect, 'content-length': length } = exchange.request.headers
  if (expect !== undefined || Number(length) > most) return Promise.resolve('over')
  let size = 0
  function take(chunk: Buffer): Code | undefined {
    size += chunk.length
    return size > most ? 'batch_too_large' : undefined
  }
  return new Promise((resolve) => consume(exchange, take, (end) => resolve(end === 'gone' ? 'gone' : 'over')))
}

function collect(exchange: Exchange, limit: BodyLimit, lease: Lease): Promise<Body> {
  if (Number(exchange.request.headers['content-length']) > limit.bytes)
    return Promise.resolve({ ok: false, code: limit.code })
  const pieces = createPieces()
  function take(chunk: Buffer): Code | undefined {
    if (pieces.size() + chunk.length > limit.bytes) return limit.code
    if (!lease.add(chunk.length)) return 'unavailable'
    pieces.add(chunk)
    return undefined
  }
  return new Promise((resolve) =>
    consume(exchange, take, (end) => {
      const bytes = pieces.join() // or the pieces would stay until the answer
      resolve(end === 'end' ? { ok: true, bytes } : { ok: false, code: end })
    }),
  )
}

/** Puts pieces together as they come: kept apart, one of a single byte takes a kilobyte (measured). */
function createPieces() {
  let bytes: Buffer = Buffer.alloc(0)
  let size = 0
  return {
    size: () => size,
    add(piece: Buffer): void {
      // one piece is taken as it is, unless it is a view of a larger buffer, which it would hold
      if (size === 0 && piece.buffer.byteLength === piece.length) bytes = piece
      else {
        if (size + piece.length > bytes.length) {
          const larger = Buffer.allocUnsafeSlow(Math.max(size + piece.length, Math.ceil(size * GROWTH)))
          bytes.copy(larger, 0, 0, size)
          bytes = larger
        }
        piece.copy(bytes, size)
      }
      size += piece.length
    },
    join(): Buffer {
      const whole = bytes.length === size ? bytes : bytes.subarray(0, size)
      bytes = Buffer.alloc(0)
      return whole
    },
  }
}

const GROWTH = 1.5

export type End = Code | 'gone' | 'end'

/** Reads a body to its end, or until `take` has had enough of it: what comes after that is left. `ended` is told once. */
export function consume(
  { request, response }: Exchange,
  take: (chunk: Buffer) => Code | undefined,
  ended: (end: End) => void,
): void {
  // a client that asks first whether to send its body, is told so now
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
  request.on('end', () => stop('end'))
  request.on(CUT, stop)
  request.on('close', () => stop('gone'))
}

/** What `consume` does with a body that nobody wants. */
export const dropped = (): undefined => undefined

export type Encoding = 'none' | 'gzip'

/** @returns undefined for a Content-Encoding that is not inflated. */
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

/** How many bytes so many in gzip may become. */
export const inflatedBytes = (wire: number, limit: number): number =>
  Math.min(limit, Math.max(GZIP_FREE, wire * GZIP_TIMES))

/**
 * zlib inflates 16 KB at a time and stops past `limit`: a zip bomb costs no more than a body that is within it. All in one
 * go, as a call does not take long enough (30 us for 18 KB, 0.4 ms for 450 KB) for the hand-over to another thread to pay.
 */
export function inflate(bytes: Buffer, limit: number): Buffer | 'too_large' | 'broken' {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit })
  } catch (error) {
    const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return isTooLarge ? 'too_large' : 'broken'
  }
}

/** What one request holds of the sum, until it is disposed of. */
export type Lease = Disposable & {
  /** @returns false, and takes nothing, when the sum would go over its bound. */
  add(bytes: number): boolean
}

/** `open`: for a request from this address. */
export type Hold = { open(ip: string): Lease; bytes(): number }

/**
 * Bounds the sum of bytes that all requests hold at once: many large bodies that come slowly must not fill the memory. The last of it is for
 * networks that hold little, so that one network cannot have others refused.
 */
export function createHold(bound: number): Hold {
  let held = 0
  const byNetwork = new Map<string, number>()
  return {
    bytes: () => held,
    open(ip) {
      const network = networkOf(ip)
      let own = 0
      return {
        add(bytes) {
          const before = byNetwork.get(network) ?? 0
          if (held + bytes > (before > bound * HELD_LITTLE ? bound * (1 - HELD_LAST) : bound)) return false
          held += bytes
          own += bytes
          byNetwork.set(network, before + bytes)
          return true
        },
        [Symbol.dispose]() {
          held -= own
          const left = (byNetwork.get(network) ?? 0) - own
          if (left > 0) byNetwork.set(network, left)
          else byNetwork.delete(network)
          own = 0
        },
      }
    },
  }
}

/** What a request takes until its answer, besides its body. */
export function requestBytes({ url = '', rawHeaders }: Pick<IncomingMessage, 'url' | 'rawHeaders'>): number {
  let bytes = REQUEST_BYTES + url.length
  for (const text of rawHeaders) bytes += text.length + FIELD_BYTES // names and values in turn
  return bytes
}
