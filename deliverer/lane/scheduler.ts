import { block } from './host-share.ts'
import type { Job, QueuedJob, Standing, WebhookQueue } from './state.ts'
import { mayBegin, standing, waitsFor } from './webhook-queue.ts'

/** Round robin, prompt webhooks first, except every eighth time. */
export type Scheduler = {
  /** Lists the queue as blocked if its host has no room. */
  add(queue: WebhookQueue, now: number): void
  next(isFree: (standing: Standing) => boolean, now: number): WebhookQueue | undefined
}

const ORDER = ['prompt', 'slow', 'doubtful'] as const
/** Otherwise doubtful webhooks would never be tested while others use every slot. */
const EIGHTH = ['doubtful', 'slow', 'prompt'] as const

export function createScheduler(): Scheduler {
  const lists = {
    prompt: new Set<WebhookQueue>(),
    slow: new Set<WebhookQueue>(),
    doubtful: new Set<WebhookQueue>(),
  }
  let count = 0

  function add(queue: WebhookQueue, now: number): void {
    if (!mayBegin(queue, now)) {
      if (queue.jobs.length() > 0 && waitsFor(queue, now) === 'host') block(queue)
      return
    }
    const list = standing(queue)
    if (queue.listed === list) return
    // its standing has changed, and its old list may have no slots now
    remove(queue)
    queue.listed = list
    lists[list].add(queue)
  }

  function remove(queue: WebhookQueue): void {
    if (queue.listed) lists[queue.listed].delete(queue)
    queue.listed = undefined
  }

  /** Silent and empty queues drop out of the list. */
  function first(list: Standing, now: number): WebhookQueue | undefined {
    for (const queue of lists[list]) {
      remove(queue)
      if (standing(queue) === list && mayBegin(queue, now)) return queue
      add(queue, now)
    }
    return undefined
  }

  return {
    add,
    next(isFree, now) {
      count += 1
      for (const list of count % 8 === 0 ? EIGHTH : ORDER) {
        const queue = lists[list].size > 0 && isFree(list) ? first(list, now) : undefined
        if (queue) return queue
      }
      return undefined
    },
  }
}

export type Backlog = {
  put(queue: WebhookQueue, queued: QueuedJob): void
  take(queue: WebhookQueue): Job | undefined
  queues(): WebhookQueue[]
  count(): number
  bytes(): number
}

export function createBacklog(): Backlog {
  const queues = new Set<WebhookQueue>()
  let count = 0
  let bytes = 0

  return {
    put(queue, queued) {
      queue.jobs.push(queued)
      queue.queuedBytes += queued.job.bytes
      if (queued.isUnproven) countInShare(queue, queued, 1)
      queues.add(queue)
      count += 1
      bytes += queued.job.bytes
    },
    take(queue) {
      const taken = queue.jobs.take()
      if (queue.jobs.length() === 0) queues.delete(queue)
      if (!taken) return undefined
      queue.queuedBytes -= taken.job.bytes
      if (taken.isUnproven) countInShare(queue, taken, -1)
      count -= 1
      bytes -= taken.job.bytes
      return taken.job
    },
    queues: () => [...queues],
    count: () => count,
    bytes: () => bytes,
  }
}

function countInShare({ share }: WebhookQueue, { job }: QueuedJob, change: 1 | -1): void {
  share.waiting += change
  share.waitingBytes += change * job.bytes
}
