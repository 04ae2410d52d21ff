import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { promisify } from 'node:util'
import { constants, gzip as gzipWithCallback } from 'node:zlib'
import got from 'got'
import type { Posted } from './answer.ts'
import { LIBRARY } from './library.ts'

/** A body as it goes over the wire. */
export type Packed = { bytes: Buffer; gzipped: boolean }

const gzip = promisify(gzipWithCallback)
/** Below it gzip gains nothing that is worth its time. */
const GZIP_ABOVE = 1024

/** Compresses outside of the main thread, as fast as gzip can. */
export async function pack(body: string, settings: { gzip: boolean }): Promise<Packed> {
  const bytes = Buffer.from(body)
  if (!settings.gzip || bytes.length <= GZIP_ABOVE) return { bytes, gzipped: false }
  return { bytes: await gzip(bytes, { level: constants.Z_BEST_SPEED }), gzipped: true }
}

/** When a request is to end at the latest: soon after the signal, and `mostMs` after its start. */
export type Limits = { signal: AbortSignal; mostMs: number }

/** Makes one request, within its limits and `requestTimeout`. Never rejects. */
export type Post = (body: Packed, limits: Limits) => Promise<Posted>

export type Agents = { http?: HttpAgent | null | undefined; https?: HttpsAgent | null | undefined }

export type Target = { endpoint: string; writeKey: string; requestTimeout: number; agent: Agents }

/** One batch is under way at a time; the second connection is for one that hangs and is being given up. */
const SOCKETS = 2
/**
 * Of the time of a request, for a connection to one of a name's addresses while others follow. Node would go on after 250 ms, and never
 * come back to the first: across the world, or when a packet is lost, a connection takes longer than that.
 */
const PER_ADDRESS = 2 / 5
/** Of an answer; what goes on beyond it is cut off. */
const ANSWER_BYTES = 1024 * 1024

/** Its own connections are kept between requests until `close`; idle ones do not keep the process. */
export function poster({ endpoint, writeKey, requestTimeout, agent }: Target): {
  post: Post
  close: () => void
} {
  const options = {
    keepAlive: true,
    maxSockets: SOCKETS,
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.round(requestTimeout * PER_ADDRESS)),
  }
  const own = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const client = got.extend({
    method: 'POST',
    agent: { http: agent.http ?? own.http, https: agent.https ?? own.https },
    // a redirected POST would become a GET; tries are counted by us
    followRedirect: false,
    retry: { limit: 0 },
    throwHttpErrors: false,
    decompress: false,
    headers: {
      authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
      'content-type': 'application/json',
      'user-agent': `${LIBRARY.name}/${LIBRARY.version}`,
    },
  })
  const post: Post = ({ bytes, gzipped }, { signal, mostMs }) =>
    read(
      client.stream(endpoint, {
        body: bytes,
        signal,
        timeout: { request: Math.min(requestTimeout, mostMs) },
        ...(gzipped && { headers: { 'content-encoding': 'gzip' } }),
      }),
    )
  const close = () => {
    own.http.destroy()
    own.https.destroy()
  }
  return { post, close }
}

/** An answer whose body breaks off or never ends is one with the body that came, and why no more did. */
async function read(stream: ReturnType<typeof got.stream>): Promise<Posted> {
  let head: { status: number; retryAfter: string | undefined } | undefined
  stream.once('response', ({ statusCode: status, headers }) => {
    head = { status, retryAfter: headers['retry-after'] }
  })
  const chunks: Buffer[] = []
  let bytes = 0
  let brokenBy: Error | undefined
  try {
    for await (const chunk of stream) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > ANSWER_BYTES) break
    }
  } catch (error) {
    brokenBy = plain(error)
  } finally {
    // ends its timers and listeners, whatever has come of it
    stream.on('error', () => {}).destroy()
  }
  if (!head) return { error: brokenBy ?? new Error('the request ended without an answer') }
  return { ...head, body: Buffer.concat(chunks).toString(), brokenBy }
}

/** Without what got hangs on its errors: its options, and with them the write key. */
function plain(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const message = error.message || ofEachAddress(error.cause) || error.name
  const code = 'code' in error ? error.code : undefined
  return Object.assign(new Error(message), code !== undefined && { code })
}

/** Where a name has several addresses and none takes a connection, Node's error has no text of its own. */
function ofEachAddress(cause: unknown): string {
  if (!(cause instanceof AggregateError)) return ''
  return cause.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
}
