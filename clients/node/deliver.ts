import { setTimeout as sleep } from 'node:timers/promises'
import { judge } from './answer.ts'
import { nextTry, TRIED_FOR_MS } from './backoff.ts'
import { bodyOf } from './batch.ts'
import { type Debug, withoutQuery } from './debug.ts'
import type { Encoded } from './encode.ts'
import { type Delivered, gaveUp, type LastTry } from './failure.ts'
import { type Limits, type Packed, type Post, pack } from './post.ts'
import { TRYING_AGAIN, warn } from './report.ts'

const TOO_LARGE = 413

export type Deliver = (batch: readonly Encoded[], signal: AbortSignal) => Promise<Delivered>

export type Tools = {
  post: Post
  settings: { endpoint: string; gzip: boolean; maxRetries: number; retryBase: number }
  debug: Debug | undefined
}

/**
 * Sends a batch until the outcome is final, always with the same ids. `sentAt` is the time of the attempt: from it the
 * service computes this machine's clock error.
 */
export function deliverer({ post, settings, debug }: Tools): Deliver {
  const { maxRetries, retryBase: baseMs } = settings
  const url = withoutQuery(settings.endpoint)
  /** Reset when a batch arrives. */
  let hasWarned = false
  /** ms since the first temporary refusal after the last accepted batch. */
  let sinceRefused: (() => number) | undefined

  return async (batch, signal) => {
    const sinceFirst = stopwatch()
    let last: LastTry | undefined
    for (let tries = 1; !signal.aborted; tries++) {
      // the machine may have slept during the wait
      if (last && leftMs(sinceFirst) <= 0) return gaveUp(last, 'time')
      const verdict = judge(await send(batch, signal, sinceFirst), { now: Date.now(), url })
      if (verdict.verdict === 'taken') {
        hasWarned = false
        sinceRefused = undefined
        return { outcome: 'sent', rejected: verdict.rejected, unlisted: verdict.unlisted }
      }
      const refusal = verdict.verdict === 'refused' ? verdict : undefined
      if (refusal && !mayPass(refusal.passesWithinMs)) return { outcome: 'failed', error: refusal.error }
      if (signal.aborted) break
      const { error } = verdict
      last = { error, tries }
      const retryAfterMs = verdict.verdict === 'retry' ? verdict.retryAfterMs : undefined
      const facts = { tries, baseMs, random: Math.random(), retryAfterMs }
      const next = nextTry({ ...facts, maxRetries, sinceFirstMs: sinceFirst() })
      if (next.next === 'none')
        return refusal ? { outcome: 'failed', error: refusal.error } : gaveUp(last, next.since)
      reportRetry(error, tries, next.waitMs)
      await sleep(next.waitMs, undefined, { signal }).catch(() => {})
    }
    return { outcome: 'aborted', last }
  }

  /** Sends a compressed batch that is refused as too large again uncompressed: the limits for gzip can be lower. */
  async function send(batch: readonly Encoded[], signal: AbortSignal, sinceFirst: () => number) {
    const body = bodyOf(batch, new Date().toISOString())
    const packed = await pack(body, settings)
    const limits = () => ({ signal, mostMs: Math.max(1, leftMs(sinceFirst)) })
    const posted = await timed({ post, debug }, packed, limits())
    if (!packed.gzipped || !('status' in posted) || posted.status !== TOO_LARGE) return posted
    return timed({ post, debug }, await pack(body, { gzip: false }), limits())
  }

  function mayPass(withinMs = 0): boolean {
    if (withinMs > 0) sinceRefused ??= stopwatch()
    return sinceRefused !== undefined && sinceRefused() < withinMs
  }

  function reportRetry(error: Error, tries: number, inMs: number): void {
    debug?.('retry', { tries, inMs, after: error.message })
    if (hasWarned) return
    hasWarned = true
    void warn(`Calls cannot be delivered to ${url} at the moment; retrying: ${error.message}`, TRYING_AGAIN)
  }
}

async function timed({ post, debug }: Pick<Tools, 'post' | 'debug'>, body: Packed, limits: Limits) {
  const start = performance.now()
  const posted = await post(body, limits)
  const ms = Math.round(performance.now() - start)
  const result = 'error' in posted ? { error: posted.error.message } : { status: posted.status }
  debug?.('response', { ...result, ms, bytes: body.bytes.length, gzip: body.gzipped })
  return posted
}

const leftMs = (sinceFirst: () => number) => Math.ceil(TRIED_FOR_MS - sinceFirst())

/** ms since now, by the clock that shows more: one stops while the machine sleeps, the other can be set back. */
function stopwatch(): () => number {
  const [steady, wall] = [performance.now(), Date.now()]
  return () => Math.max(performance.now() - steady, Date.now() - wall)
}
