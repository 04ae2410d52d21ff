import { Agent, type Dispatcher } from 'undici'
import type { Allowed } from './address.ts'
import { classifyError, classifyStatus, codeOf, type Outcome } from './classify.ts'
import { guardedLookup, vetLiteral } from './guard.ts'
import type { Request } from './request.ts'

export type Answer = { outcome: Outcome; durationMs: number; response: Promise<string | null> }

export type Poster = {
  /** Never rejects; ends within the time limit, whatever the receiver does. */
  post(request: Request): Promise<Answer>
  close(): Promise<void>
}

export type PosterOptions = { timeoutMs: number; allow: Allowed; ca?: string[] | undefined }

/** How much of a response is kept for the log, and how much and how long is read to be able to use its connection again. */
const KEPT_BYTES = 1_024
const READ_BYTES = 16 * 1024
const READ_MS = 1_000

/** POSTs over kept connections; no redirects, no proxies. The limit spans name look-up, connect, TLS and headers. */
export function createPoster({ timeoutMs, allow, ca }: PosterOptions): Poster {
  const agent = new Agent({
    connect: { lookup: guardedLookup(allow), timeout: timeoutMs, ...(ca && { ca }) },
    connections: 256,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    headersTimeout: timeoutMs,
    bodyTimeout: READ_MS,
  })

  async function post({ url, headers, body }: Request): Promise<Answer> {
    const startedAt = performance.now()
    const ended = (outcome: Outcome, response: Promise<string | null>) => ({
      outcome,
      durationMs: Math.round(performance.now() - startedAt),
      response,
    })
    const limit = new AbortController()
    const timer = setTimeout(
      () => limit.abort(new DOMException('no response in time', 'TimeoutError')),
      timeoutMs,
    )
    try {
      const target = new URL(url)
      vetLiteral(target, allow)
      const response = await agent.request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'POST',
        headers,
        body,
        signal: limit.signal,
      })
      clearTimeout(timer)
      return ended(classifyStatus(response.statusCode), readHead(response.body, limit))
    } catch (error) {
      clearTimeout(timer)
      return ended(classifyError(codeOf(error)), Promise.resolve(null))
    }
  }

  return { post, close: () => agent.destroy() }
}

/** The body is not needed: an endless or dripping one is cut off, and costs its connection. */
async function readHead(
  body: Dispatcher.ResponseData['body'],
  limit: AbortController,
): Promise<string | null> {
  const timer = setTimeout(() => limit.abort(), READ_MS)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      if (bytes < KEPT_BYTES) chunks.push(chunk.subarray(0, KEPT_BYTES - bytes))
      bytes += chunk.length
      if (bytes > READ_BYTES) limit.abort()
    }
  } catch {
    // cut off by us or by the receiver: the outcome stands, the head is what came
  } finally {
    clearTimeout(timer)
  }
  return bytes === 0 ? null : Buffer.concat(chunks).toString('utf8')
}
