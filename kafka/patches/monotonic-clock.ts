/**
 * Upstream: no issue; `Date.now()` in src/consumer/consumerGroup.js, src/network/requestQueue and
 * src/cluster/brokerPool.js.
 * Without it: when the wall clock is set back, a member sends no heartbeat until the clock has caught up. Its group
 * expels it, but it keeps working. When the clock is set forward, every request in flight times out.
 * Until: test/kafka/monotonic-clock.test.ts passes without it.
 */
import { prototypeOf } from './internals.ts'

/** Properties in which kafkajs stores a time of the wall clock to measure a duration. */
const TIMES = {
  // the last heartbeat of a member
  'consumer/consumerGroup': 'lastRequest',
  'network/requestQueue/socketRequest': 'sentAt',
  'network/requestQueue': 'throttledUntil',
  'cluster/brokerPool': 'metadataExpireAt',
} as const

/** Wall clock minus monotonic clock, in ms. */
const offset = () => Date.now() - performance.now()

/** Stores these times by the monotonic clock. Converts them to the current wall clock when kafkajs reads them. */
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
