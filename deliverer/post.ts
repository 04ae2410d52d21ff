import { Agent } from 'undici'
import type { Allowed } from './address.ts'
import { classifyError, codeOf, type Outcome } from './classify.ts'
import { createExchange } from './exchange.ts'
import { guardedLookup, vetLiteral } from './guard.ts'
import type { Request } from './request.ts'

export type Answer = {
  outcome: Outcome
  durationMs: number
  /** First 1,024 bytes of the response, once it has ended or was cut off; null when it was empty or there was none. */
  response: Promise<string | null>
}

export type Poster = {
  /** Never rejects; ends within the time limit, whatever the receiver does. */
  post(request: Request): Promise<Answer>
  close(): Promise<void>
}

export type PosterOptions = { timeoutMs: number; allow: Allowed; ca?: string[] | undefined }

/** POSTs over kept connections; no redirects, no proxies. The limit spans name look-up, connect, TLS and headers. */
export function createPoster({ timeoutMs, allow, ca }: PosterOptions): Poster {
  const agent = new Agent({
    // said here, as a variable in the environment could switch the check off
    connect: {
      lookup: guardedLookup(allow),
      timeout: timeoutMs,
      rejectUnauthorized: true,
      ...(ca && { ca }),
    },
    connections: 256,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    // the exchange has limits of its own
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  async function post({ url, headers, body }: Request): Promise<Answer> {
    const startedAt = performance.now()
    const exchange = createExchange(timeoutMs)
    try {
      const target = new URL(url)
      vetLiteral(target, allow)
      const path = target.pathname + target.search
      agent.dispatch({ origin: target.origin, path, method: 'POST', headers, body }, exchange.handler)
    } catch (error) {
      exchange.end(classifyError(codeOf(error)))
    }
    const outcome = await exchange.outcome
    return { outcome, durationMs: Math.round(performance.now() - startedAt), response: exchange.response }
  }

  return { post, close: () => agent.destroy() }
}
