import { setTimeout as sleep } from 'node:timers/promises'
import { judge } from './answer.ts'
import { nextTry, TRIED_FOR_MS } from './backoff.ts'
import { bodyOf } from './batch.ts'
import { type Debug, withoutQuery } from './debug.ts'
import { type Delivered, gaveUp, type LastTry } from './delivered.ts'
import type { Encoded } from './encode.ts'
import { type Limits, type Packed, type Post, pack } from './post.ts'
import { TRYING_AGAIN, warn } from './warning.ts'

export type Deliver = (batch: readonly Encoded[], signal: AbortSignal) => Promise<Delivered>

export type Tools = {
  post: Post
  settings: { endpoint: string; gzip: boolean; maxRetries: number; retryBase: number }
  debug: Debug | undefined
}

/**
 * Sends a batch until something final comes of it. The calls stay the same, so that what comes twice can be told by its ids; `sentAt` is
 * that of the try, as the service takes the difference to its own clock for an error of this machine's.
 */
export function deliverer({ post, settings, debug }: Tools): Deliver {
  const { maxRetries, retryBase: baseMs } = settings
  const url = withoutQuery(settings.endpoint)
  /** Once is enough, until a batch has arrived again. */
  let hasWarned = false
  /** The ms since the first refusal that may pass. Starts again when a batch was taken, not with each batch. */
  let sinceRefused: (() => number) | undefined

  return async (batch, signal) => {
    const sinceFirst = stopwatch()
    let last: LastTry | undefined
    for (let tries = 1; !signal.aborted; tries++) {
      // while it waited, the machine may have slept
      const mostMs = Math.ceil(TRIED_FOR_MS - sinceFirst())
      if (last && mostMs <= 0) return gaveUp(last, 'time')
      const body = await pack(bodyOf(batch, new Date().toISOString()), settings)
      const verdict = judge(await timed(body, { signal, mostMs }), { now: Date.now(), url })
      if (verdict.verdict === 'taken') {
        hasWarned = false
        sinceRefused = undefined
        return { outcome: 'sent', rejected: verdict.rejected }
      }
      const refusal = verdict.verdict === 'refused' ? verdict : undefined
      if (refusal && !mayPass(refusal)) return { outcome: 'failed', error: refusal.error }
      if (signal.aborted) break
      const { error } = verdict
      last = { error, tries }
      const retryAfterMs = verdict.verdict === 'retry' ? verdict.retryAfterMs : undefined
      const facts = { tries, baseMs, random: Math.random(), retryAfterMs }
      const next = nextTry({ ...facts, maxRetries, sinceFirstMs: sinceFirst() })
      if (next.next === 'none')
        return refusal ? { outcome: 'failed', error: refusal.error } : gaveUp(last, next.since)
      tell(error, tries, next.waitMs)
      await sleep(next.waitMs, undefined, { signal }).catch(() => {})
    }
    return { outcome: 'aborted', last }
  }

  function mayPass({ passesWithinMs = 0 }: { passesWithinMs?: number }): boolean {
    if (passesWithinMs === 0) return false
    sinceRefused ??= stopwatch()
    return sinceRefused() < passesWithinMs
  }

  function tell(error: Error, tries: number, inMs: number): void {
    debug?.('retry', { tries, inMs, after: error.message })
    if (hasWarned) return
    hasWarned = true
    void warn(`Calls are not taken at ${url} now, and are tried again: ${error.message}`, TRYING_AGAIN)
  }

  async function timed(body: Packed, limits: Limits) {
    const start = performance.now()
    const posted = await post(body, limits)
    const ms = Math.round(performance.now() - start)
    const came = 'error' in posted ? { error: posted.error.message } : { status: posted.status }
    debug?.('response', { ...came, ms, bytes: body.bytes.length, gzip: body.gzipped })
    return posted
  }
}

/** Tells the ms since now, by the clock that says more: one stands while the machine sleeps, the other may be set back. */
function stopwatch(): () => number {
  const [steady, wall] = [performance.now(), Date.now()]
  return () => Math.max(performance.now() - steady, Date.now() - wall)
}
