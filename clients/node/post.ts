import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { constants, gzip as gzipWithCallback } from 'node:zlib'
import got, { type RequestFunction } from 'got'
import type { Posted } from './answer.ts'
import { LIBRARY } from './library.ts'

export type Packed = { bytes: Buffer; gzipped: boolean }

const gzip = promisify(gzipWithCallback)
/** Smaller bodies are not worth the time. */
const GZIP_ABOVE = 1024
/** The service refuses gzip that inflates to more than 100 times its size, and with it the whole batch. */
const GZIP_TIMES = 100

/** Compresses off the main thread. */
export async function pack(body: string, settings: { gzip: boolean }): Promise<Packed> {
  const bytes = Buffer.from(body)
  if (!settings.gzip || bytes.length <= GZIP_ABOVE) return { bytes, gzipped: false }
  const gzipped = await gzip(bytes, { level: constants.Z_BEST_SPEED })
  if (gzipped.length * GZIP_TIMES < bytes.length) return { bytes, gzipped: false }
  return { bytes: gzipped, gzipped: true }
}

/** A request ends soon after the signal, or `mostMs` after its start. */
export type Limits = { signal: AbortSignal; mostMs: number }

/** Never rejects. */
export type Post = (body: Packed, limits: Limits) => Promise<Posted>

export type Agents = { http?: HttpAgent | null | undefined; https?: HttpsAgent | null | undefined }

export type Target = { endpoint: string; writeKey: string; requestTimeout: number; agent: Agents }

/** One for the batch, one for when the first hangs. */
const SOCKETS = 2
/**
 * The share of the timeout for each address of a host. Node's default of 250 ms is too short for a connection across
 * the world or with a lost packet.
 */
const PER_ADDRESS = 2 / 5
const ANSWER_BYTES = 1024 * 1024

/** Idle connections do not keep the process alive. */
export function poster({ endpoint, writeKey, requestTimeout, agent }: Target): {
  post: Post
  close: () => void
} {
  const options = {
    keepAlive: true,
    maxSockets: SOCKETS,
    autoSelectFamilyAttemptTimeout: Math.max(10, Math.round(requestTimeout * PER_ADDRESS)),
  }
  const defaults = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const client = got.extend({
    method: 'POST',
    request,
    agent: { http: agent.http ?? defaults.http, https: agent.https ?? defaults.https },
    // a redirected POST would become a GET; `deliver` retries
    followRedirect: false,
    retry: { limit: 0 },
    throwHttpErrors: false,
    decompress: false,
    headers: {
      // otherwise a proxy may compress the response, which nothing here decompresses
      'accept-encoding': 'identity',
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
        ...(gzipped && { headers: { 'content-encoding': 'gzip' } }),
      }),
      Math.min(requestTimeout, mostMs),
    )
  const close = () => {
    defaults.http.destroy()
    defaults.https.destroy()
  }
  return { post, close }
}

/** got reads errors outside of any `try`: an agent's error that throws when it is read would end the process. */
const request: RequestFunction = (url, options) => {
  try {
    const made = url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options)
    const { emit } = made
    made.emit = (event: string, ...values: unknown[]) =>
      emit.call(made, event, ...(event === 'error' ? values.map(readable) : values))
    return made
  } catch (thrown) {
    throw readable(thrown)
  }
}

/** An agent may throw anything, even a value that throws when it is read. */
function readable(thrown: unknown): unknown {
  try {
    const { message, stack } = thrown as Error
    return typeof message === 'string' && typeof stack === 'string' ? thrown : new Error(String(thrown))
  } catch {
    return new Error('the agent threw a value that cannot be read')
  }
}

/** Of a broken or endless body, returns what arrived. */
async function read(stream: ReturnType<typeof got.stream>, timeoutMs: number): Promise<Posted> {
  // got's own timeout waits until the agent has a connection. If the process was blocked, the answer may wait to be read
  const expire = () => setImmediate(() => stream.destroy(timedOut(timeoutMs)))
  const timeout = setTimeout(expire, timeoutMs)
  let head: { status: number; retryAfter: string | undefined } | undefined
  stream.once('response', ({ statusCode: status, headers }) => {
    head = { status, retryAfter: headers['retry-after'] }
  })
  // got leaves this response to the caller, without a timeout
  stream.once('upgrade', ({ statusCode }: IncomingMessage, socket: Duplex) => {
    head = { status: statusCode ?? 101, retryAfter: undefined }
    socket.destroy()
    stream.destroy()
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
    clearTimeout(timeout)
    // releases timers and listeners
    stream.on('error', () => {}).destroy()
  }
  if (!head) return { error: brokenBy ?? new Error('the request ended without a response') }
  return { ...head, body: Buffer.concat(chunks).toString(), brokenBy }
}

const timedOut = (ms: number) =>
  Object.assign(new Error(`Timeout awaiting 'request' for ${ms}ms`), { code: 'ETIMEDOUT' })

/** The options that got attaches to its errors contain the write key. */
function plain(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const message = error.message || ofEachAddress(error.cause) || error.name
  const code = 'code' in error ? error.code : undefined
  return Object.assign(new Error(message), code !== undefined && { code })
}

/** Node's error has no message if every address of a host refuses. */
function ofEachAddress(cause: unknown): string {
  if (!(cause instanceof AggregateError)) return ''
  return cause.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
}
