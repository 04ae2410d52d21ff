import { createNetworkLimit } from '../http/rate-limit.ts'
import { type Bucket, draw, type RateLimit, waitOf } from '../process/token-bucket.ts'
import type { Source } from '../settings/settings.ts'
import { type Answer, refusal, retryAfter, statusOf } from './answer.ts'
import { ANONYMOUS_BYTES, MIN_ANONYMOUS_BYTES } from './limits.ts'

export type SourceLimit = NonNullable<Source['rateLimit']>

export type SourceLimits = {
  /** @returns whole seconds until a request passes; undefined when it passes now. */
  wait(limit: SourceLimit): number | undefined
  /** Takes calls from the limit. @returns as `wait`. */
  draw(limit: SourceLimit, calls: number): number | undefined
  spend(limit: SourceLimit, bytes: number): void
}

const BURST_S = 10

/** Saving a source refills its buckets. @param clock milliseconds, monotonic. */
export function createSourceLimits(clock: () => number): SourceLimits {
  const callsOf = new WeakMap<SourceLimit, Bucket>()
  const bytesOf = new WeakMap<SourceLimit, Bucket>()

  function wait(limit: SourceLimit): number | undefined {
    const now = clock()
    const ofBytes = byteLimit(limit)
    return (
      (ofBytes && waitOf(bytesOf.get(limit), { limit: ofBytes, now })) ??
      waitOf(callsOf.get(limit), { limit, now })
    )
  }

  return {
    wait,
    draw(limit, calls) {
      const seconds = wait(limit)
      if (seconds !== undefined) return seconds
      const drawn = draw(callsOf.get(limit), { limit, cost: calls, now: clock() })
      if (!drawn.passed) return drawn.retryAfter
      callsOf.set(limit, drawn.bucket)
      return undefined
    },
    spend(limit, bytes) {
      const ofBytes = byteLimit(limit)
      const drawn = ofBytes && draw(bytesOf.get(limit), { limit: ofBytes, cost: bytes, now: clock() })
      if (drawn?.passed) bytesOf.set(limit, drawn.bucket)
    },
  }
}

function byteLimit({ bytesPerSecond }: SourceLimit): RateLimit | undefined {
  return bytesPerSecond === undefined
    ? undefined
    : { perSecond: bytesPerSecond, burst: bytesPerSecond * BURST_S }
}

export function rateLimited({ perSecond, burst, bytesPerSecond }: SourceLimit, seconds: number): Answer {
  const { code, message } = refusal('rate_limited')
  const calls = `At most ${perSecond} a second, and ${burst} at once`
  const bytes = bytesPerSecond === undefined ? '' : `; at most ${bytesPerSecond} bytes a second`
  return {
    code,
    status: statusOf(code),
    headers: retryAfter(seconds),
    body: JSON.stringify({ code, message: `${message} ${calls}${bytes}.` }),
  }
}

/** Limits, per network, bodies without a valid write key: Sluice must parse them to find that out. */
export type AnonymousLimit = {
  /** @returns whole seconds until this network's bodies pass; undefined when they pass now. */
  wait(ip: string): number | undefined
  count(ip: string, bytes: number): void
}

/** @param clock milliseconds, monotonic. */
export function createAnonymousLimit(clock: () => number): AnonymousLimit {
  const limit = createNetworkLimit(ANONYMOUS_BYTES, clock)
  return {
    wait: limit.wait,
    count: (ip, bytes) => void limit.draw(ip, Math.max(bytes, MIN_ANONYMOUS_BYTES)),
  }
}
