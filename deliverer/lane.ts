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
  let queue: Taken<Delivery>[] = []
  let head = 0
  let running = 0

  function take(): Taken<Delivery> | undefined {
    const record = queue[head]
    head += 1
    // now and then, so that taking costs the same however long the queue is
    if (head * 2 > queue.length) {
      queue = queue.slice(head)
      head = 0
    }
    return record
  }

  function pump(): void {
    while (running < slots && queue.length > head) {
      const record = take()
      if (record?.owned()) begin(record)
      else record?.release()
    }
  }

  function begin(record: Taken<Delivery>): void {
    running += 1
    void attempt(record).finally(() => {
      running -= 1
      pump()
    })
  }

  return {
    add(record) {
      queue.push(record)
      pump()
    },
    waiting: () => queue.length - head,
    running: () => running,
  }
}
