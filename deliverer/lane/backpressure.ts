import { WINDOW_MS } from './host-share.ts'
import type { DeferCode, Refusal, WebhookQueue } from './state.ts'
import { isSilent, standing } from './webhook-queue.ts'

/** Any webhook that is not in trouble may have this many POSTs waiting. */
const MIN_WAITING = 16

export type QueueFacts = {
  queued: { posts: number; bytes: number }
  waiting: { posts: number; bytes: number }
  room: { posts: number; bytes: number }
  perSecond: number
  inTrouble: boolean
}

/** A single POST may have any size. */
export function isQueueFull(facts: QueueFacts): boolean {
  const { queued, waiting, room } = facts
  return queued.posts >= queueLimit(facts) || (queued.bytes > 0 && queued.bytes >= room.bytes - waiting.bytes)
}

/**
 * A webhook may use as much room as is left in the lane (dynamic thresholds, as in network switches), and always as
 * much as it recently answered in a quarter of a second. In trouble, it gets one POST.
 */
function queueLimit({ room, waiting, perSecond, inTrouble }: QueueFacts): number {
  if (inTrouble) return waiting.posts < room.posts ? 1 : 0
  return Math.max(MIN_WAITING, room.posts - waiting.posts, perSecond / 4)
}

/**
 * The longest deferral, as a share of the outage so far. With a quarter, a backlog drains at about five times the rate
 * of arrivals.
 */
const OUTAGE_SHARE = 1 / 4

export function refusal({ webhook, perSecond, jobs }: WebhookQueue, code: DeferCode, now: number): Refusal {
  const { breaker, host, behind } = webhook
  if (code === 'breaker_open') {
    const { failingSince = now } = host.breaker.open ? host.breaker : breaker
    return { code, waitMs: (now - failingSince) * OUTAGE_SHARE }
  }
  return { code, waitMs: ((behind + jobs.length()) * 1_000) / Math.max(1, perSecond) }
}

export type LaneSpeed = { perSecond: number; isBusy: boolean }

/** Answers a second. A process can write about three times as many deferrals. */
const FAST = 4_000
const MOST = 3 / 4
const LONGEST_REST_MS = 100

/**
 * Twice a webhook's cap, or its answers in 50 ms if more, are enough. The rest stays in Kafka if deferring would not be
 * faster: the webhook is fast or new, takes nearly all work of a busy process, or a busy process cannot fill its cap.
 * @returns ms until half of this is left; 0 to defer the rest.
 */
export function restFor(queue: WebhookQueue, lane: LaneSpeed, now: number): number {
  const { jobs, cap, createdAt } = queue
  const rate = answersPerSecond(queue, now)
  const enough = Math.max(cap * 2, rate / 20)
  if (jobs.length() < enough || isSilent(queue, now) || standing(queue) === 'doubtful') return 0
  const isMost = rate >= lane.perSecond * MOST
  const isHeldUp = standing(queue) === 'prompt' && queue.inFlight < Math.floor(cap)
  if (rate < FAST && !(lane.isBusy && (isMost || isHeldUp)) && now - createdAt >= WINDOW_MS) return 0
  return Math.min(LONGEST_REST_MS, ((jobs.length() - enough / 2) * 1_000) / Math.max(rate, 1))
}

function answersPerSecond({ perSecond, answers, windowFrom }: WebhookQueue, now: number): number {
  return Math.max(perSecond, (answers * 1_000) / Math.max(now - windowFrom, WINDOW_MS / 4))
}

export type Rate = {
  add(now: number): void
  /** The last whole second, or this one so far if that is more. */
  perSecond(now: number): number
}

export function createRate(): Rate {
  let from = 0
  let count = 0
  let before = 0

  function roll(now: number): void {
    if (now - from < WINDOW_MS) return
    before = (count * 1_000) / (now - from)
    count = 0
    from = now
  }

  return {
    add(now) {
      roll(now)
      count += 1
    },
    perSecond(now) {
      roll(now)
      return Math.max(before, (count * 1_000) / Math.max(now - from, WINDOW_MS / 4))
    },
  }
}

const SAMPLE_MS = 100
const BUSY = 0.9

/** @returns a function that says whether the event loop had almost no idle time since it was last asked (100 ms or more). */
export function watchLoad(): () => boolean {
  let last = performance.eventLoopUtilization()
  let lastAt = performance.now()
  let utilization = 0
  return () => {
    const now = performance.now()
    if (now - lastAt >= SAMPLE_MS) {
      const current = performance.eventLoopUtilization()
      utilization = performance.eventLoopUtilization(current, last).utilization
      last = current
      lastAt = now
    }
    return utilization > BUSY
  }
}
