import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Where kafkajs keeps times of the wall clock to measure spans by (2.2.4, which is pinned); tests hold this against it. */
const TIMES = {
  // a member's last heartbeat
  'kafkajs/src/consumer/consumerGroup': 'lastRequest',
  'kafkajs/src/network/requestQueue/socketRequest': 'sentAt',
  'kafkajs/src/network/requestQueue': 'throttledUntil',
  'kafkajs/src/cluster/brokerPool': 'metadataExpireAt',
} as const

/** What lies between the two clocks now, in ms. */
const offset = () => Date.now() - performance.now()

/**
 * Has kafkajs measure its spans by the monotonic clock. By the wall clock, when that is set back, a member sends no heartbeat until it is as late
 * again as it was: its group goes on without it, and nothing tells it so; and when that is set forward, all requests under way have taken
 * too long. The times are kept by the one and read by the other, so that what kafkajs compares is right whatever happens
 * between. For all clients in this process.
 */
export function measureSpans(): void {
  for (const [path, name] of Object.entries(TIMES)) {
    const { prototype }: { prototype: object } = require(path)
    const kept = new WeakMap<object, number>()
    Object.defineProperty(prototype, name, {
      get(this: object) {
        const at = kept.get(this)
        return at === undefined ? null : at + offset()
      },
      set(this: object, time: number | null) {
        if (time === null) kept.delete(this)
        else kept.set(this, time - offset())
      },
    })
  }
}
