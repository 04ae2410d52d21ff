import { setTimeout as sleep } from 'node:timers/promises'
import { judge } from './answer.ts'
import { backoff } from './backoff.ts'
import { bodyOf } from './batch.ts'
import type { Debug } from './debug.ts'
import { type Delivered, factsOf, type LastTry } from './delivered.ts'
import type { Encoded } from './encode.ts'
import { type AnalyticsError, fault } from './errors.ts'
import { type Packed, type Post, pack } from './post.ts'

export type Deliver = (batch: readonly Encoded[], signal: AbortSignal) => Promise<Delivered>

export type Tools = {
  post: Post
  settings: { gzip: boolean; maxRetries: number; retryBase: number }
  debug: Debug | undefined
}

/**
 * Sends a batch until something final comes of it. The calls stay the same, so that what comes twice can be told by its ids; `sentAt` is
 * that of the try, as the service takes the difference to its own clock for an error of this machine's.
 */
export function deliverer({ post, settings, debug }: Tools): Deliver {
  const { maxRetries, retryBase: baseMs } = settings

  return async (batch, signal) => {
    let last: LastTry | undefined
    for (let tries = 1; !signal.aborted; tries++) {
      const body = await pack(bodyOf(batch, new Date().toISOString()), settings)
      const verdict = judge(await timed(body, signal), Date.now())
      if (verdict.verdict === 'taken') return { outcome: 'sent', rejected: verdict.rejected }
      if (verdict.verdict === 'refused') return { outcome: 'failed', error: verdict.error }
      if (signal.aborted) break
      const { error, retryAfterMs } = verdict
      last = { error, tries }
      if (tries > maxRetries) return { outcome: 'failed', error: gaveUp(last) }
      const delayMs = backoff({ tries, baseMs, random: Math.random(), retryAfterMs })
      debug?.('retry', { tries, inMs: delayMs, after: error.message })
      await sleep(delayMs, undefined, { signal }).catch(() => {})
    }
    return { outcome: 'aborted', last }
  }

  async function timed(body: Packed, signal: AbortSignal) {
    const start = performance.now()
    const posted = await post(body, signal)
    const ms = Math.round(performance.now() - start)
    const came = 'error' in posted ? { error: posted.error.message } : { status: posted.status }
    debug?.('response', { ...came, ms, bytes: body.bytes.length, gzip: body.gzipped })
    return posted
  }
}

function gaveUp(last: LastTry): AnalyticsError {
  const { error, tries } = last
  const message = `No success in ${tries} ${tries === 1 ? 'try' : 'tries'}. The last: ${error.message}`
  return fault('gave_up', message, { cause: error, ...factsOf(last) })
}
