import { createNetworkLimit } from '../http/rate-limit.ts'
import { type Bucket, draw, type RateLimit, waitOf } from '../process/token-bucket.ts'
import type { Source } from '../settings/settings.ts'
import { type Answer, refusal, retryAfter, statusOf } from './answer.ts'
import { STRANGER_BYTES, STRANGER_LEAST_BYTES } from './limits.ts'

export type SourceLimit = NonNullable<Source['rateLimit']>

export type Throttle = {
  /** Takes so many calls from their source's limit. @returns undefined when they pass, else the whole seconds until a request does. */
  draw(limit: SourceLimit, calls: number): number | undefined
  /** Takes the bytes that a request which has passed comes to. */
  spend(limit: SourceLimit, bytes: number): void
}

/** Bytes pass at once for so many seconds. */
const BURST_S = 10

/**
 * Holds the buckets of each limit of the settings as they are now: a source that is written anew begins with full ones,
 * and those of a limit or a source that is gone go with it.
 * @param clock milliseconds, monotonic.
 */
export function createThrottle(clock: () => number): Throttle {
  const callsOf = new WeakMap<SourceLimit, Bucket>()
  const bytesOf = new WeakMap<SourceLimit, Bucket>()
  return {
    draw(limit, calls) {
      const now = clock()
      const ofBytes = byteLimit(limit)
      const wait = ofBytes && waitOf(bytesOf.get(limit), { limit: ofBytes, now })
      if (wait !== undefined) return wait
      const drawn = draw(callsOf.get(limit), { limit, cost: calls, now })
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

/** The answer to a request over the limit, which it names. @param seconds whole ones, until a request passes. */
export function tooFast({ perSecond, burst, bytesPerSecond }: SourceLimit, seconds: number): Answer {
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

/**
 * Bounds what a network may cost with bodies in which no write key of a source is found: they have to be inflated and parsed to look for it.
 * Requests whose key is outside the body are none of them, and are never refused for it.
 */
export type Strangers = {
  /** @returns whole seconds until a body from there is worked on again, undefined when it is now. */
  wait(ip: string): number | undefined
  /** Nobody's body of so many bytes has been worked on. */
  refused(ip: string, bytes: number): void
}

/** @param clock milliseconds, monotonic. */
export function createStrangers(clock: () => number): Strangers {
  const limit = createNetworkLimit(STRANGER_BYTES, clock)
  return {
    wait: limit.wait,
    refused: (ip, bytes) => void limit.draw(ip, Math.max(bytes, STRANGER_LEAST_BYTES)),
  }
}
