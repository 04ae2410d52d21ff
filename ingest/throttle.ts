import { type Answer, retryAfter } from './answer.ts'
import { type Bucket, draw, type RateLimit } from './call/rate.ts'
import { refusal, statusOf } from './codes.ts'

/** @returns undefined when so many calls pass, else the whole seconds until a request does. */
export type Throttle = (limit: RateLimit, calls: number) => number | undefined

/**
 * Holds a bucket for each limit of the settings as they are now: a source that is written anew begins with a full one,
 * and the bucket of a limit or a source that is gone goes with it.
 * @param clock milliseconds, monotonic.
 */
export function createThrottle(clock: () => number): Throttle {
  const buckets = new WeakMap<RateLimit, Bucket>()
  return (limit, calls) => {
    const drawn = draw(buckets.get(limit), { limit, calls, now: clock() })
    if (!drawn.passed) return drawn.retryAfter
    buckets.set(limit, drawn.bucket)
    return undefined
  }
}

/** The answer to a request over the limit, which it names. @param seconds whole ones, until a request passes. */
export function tooFast({ perSecond, burst }: RateLimit, seconds: number): Answer {
  const { code, message } = refusal('rate_limited')
  const limit = `At most ${perSecond} a second, and ${burst} at once.`
  return {
    code,
    status: statusOf(code),
    headers: retryAfter(seconds),
    body: JSON.stringify({ code, message: `${message} ${limit}` }),
  }
}
