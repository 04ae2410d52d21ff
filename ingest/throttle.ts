import { type Answer, retryAfter } from './answer.ts'
import { type Bucket, draw, type RateLimit, type SourceLimit, waitOf } from './call/rate.ts'
import { refusal, statusOf } from './codes.ts'

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
