import type { Taken } from '../kafka/consume.ts'
import type { Delivery } from '../schemas/delivery.ts'

/** First attempts and retries run in lanes of their own, so that a recovery with many retries cannot delay a fresh event. */
export type Lane = {
  /** Hands a delivery over and returns at once; first attempts start in the order in which they came. */
  add(record: Taken<Delivery>): void
  waiting(): number
  running(): number
}

/** @param attempt carries one delivery to where it is settled; never rejects. @param slots how many may run at once. */
export function createLane({
  slots,
  attempt,
}: {
  slots: number
  attempt: (record: Taken<Delivery>) => Promise<void>
}): Lane {
  const queue = new Set<Taken<Delivery>>()
  let running = 0

  function pump(): void {
    for (const record of queue) {
      if (running >= slots) return
      queue.delete(record)
      if (!record.owned()) {
        record.release()
        continue
      }
      running += 1
      void attempt(record).finally(() => {
        running -= 1
        pump()
      })
    }
  }

  return {
    add(record) {
      queue.add(record)
      pump()
    },
    waiting: () => queue.size,
    running: () => running,
  }
}
