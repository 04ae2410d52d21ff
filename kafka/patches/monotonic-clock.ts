/**
 * Upstream: no issue; `Date.now()` in src/consumer/consumerGroup.js, src/network/requestQueue and
 * src/cluster/brokerPool.js.
 * Without it: when the wall clock is set back, a member sends no heartbeat until it has caught up. Its group expels it,
 * but it keeps working. When it is set forward, requests in flight time out.
 * Until: test/kafka/monotonic-clock.test.ts passes without it.
 */
import { prototypeOf } from './internals.ts'

/** Wall-clock times from which kafkajs measures durations. */
const TIMES = {
  // the last heartbeat of a member
  'consumer/consumerGroup': 'lastRequest',
  'network/requestQueue/socketRequest': 'sentAt',
  'network/requestQueue': 'throttledUntil',
  'cluster/brokerPool': 'metadataExpireAt',
} as const

/** Wall clock minus monotonic clock, in ms. */
const offset = () => Date.now() - performance.now()

/** Stores these times by the monotonic clock and converts them on reading. */
export function measureByMonotonicClock(): void {
  for (const [path, name] of Object.entries(TIMES)) {
    const times = new WeakMap<object, number>()
    Object.defineProperty(prototypeOf<object>(path), name, {
      get(this: object) {
        const at = times.get(this)
        return at === undefined ? null : at + offset()
      },
      set(this: object, time: number | null) {
        if (time === null) times.delete(this)
        else times.set(this, time - offset())
      },
    })
  }
}
