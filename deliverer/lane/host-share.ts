import type { Ended } from '../../delivery/breaker.ts'
import { hasAnsweredLately } from '../../delivery/webhooks.ts'
import { createTokenBucket } from '../../process/token-bucket.ts'
import type { HostLimits, HostShare, WebhookQueue } from './state.ts'

export const hostLimits = (slots: number, room: { posts: number; bytes: number }): HostLimits => ({
  least: Math.max(4, Math.floor(slots / 32)),
  most: Math.max(4, Math.floor(slots / 2)),
  reserve: Math.max(2, Math.floor(slots / 8)),
  trusted: Math.max(4, Math.floor(slots / 8)),
  failing: Math.max(2, Math.floor(slots / 16)),
  waiting: room.posts / 4,
  waitingBytes: room.bytes / 4,
})

/** New webhooks get a chance even while others of their host hang. */
const TRIALS = { perSecond: 20, burst: 2 }
/** Slightly above the rate at which a host's webhooks are probed (webhooks.ts). */
const PROBES = { perSecond: 40, burst: 8 }
const SHRINKS_TO = 7 / 8
export const SILENT_MS = 1_000
export const WINDOW_MS = 1_000
const TWO_TIMEOUTS = 0b11

export const createHostShare = (
  limits: HostLimits,
  now: number,
  withBlocked = new Set<HostShare>(),
): HostShare => ({
  prompt: 0,
  unproven: 0,
  failing: 0,
  waiting: 0,
  waitingBytes: 0,
  awaiting: new Set(),
  outOfOrder: new Set(),
  trusted: new Set(),
  cap: limits.least,
  peak: 0,
  windowFrom: now,
  blocked: { known: new Set(), untested: new Set() },
  withBlocked,
  trials: createTokenBucket(TRIALS),
  probes: createTokenBucket(PROBES),
  limits,
})

/**
 * Its last POST failed, and it has never answered, has not answered lately, or timed out twice in a row. Decides about
 * slots only; control/activity/health/health.ts decides what people see.
 */
export function isFailingWebhook(queue: WebhookQueue, now: number): boolean {
  const { failingSince, inRow, timedOut } = queue.webhook.breaker
  if (failingSince === undefined) return false
  if (!hasAnswered(queue) || (timedOut & TWO_TIMEOUTS) === TWO_TIMEOUTS) return true
  return inRow > 1 && !hasAnsweredLately(queue.webhook, now)
}

const hasAnswered = ({ webhook }: WebhookQueue) => webhook.answeredAt > Number.NEGATIVE_INFINITY
/** It has just answered, so the silence of others on its host says nothing about it. */
export const isAnswering = ({ webhook }: WebhookQueue, now: number) => now - webhook.answeredAt <= SILENT_MS

/** It has answered since the longest-silent webhook was last heard from. */
const isUnharmed = (queue: WebhookQueue, now: number) =>
  isAnswering(queue, now) && queue.webhook.answeredAt > awaitingSince(queue.share)

function awaitingSince({ awaiting, outOfOrder }: HostShare): number {
  let since = Number.POSITIVE_INFINITY
  for (const { heardAt } of outOfOrder) since = Math.min(since, heardAt)
  for (const queue of awaiting) if (!outOfOrder.has(queue)) return Math.min(since, queue.heardAt)
  return since
}

const untested = ({ awaiting, trusted }: HostShare) => awaiting.size - trusted.size
const isFull = (share: HostShare) => untested(share) >= Math.floor(share.cap)

export function hostAllows(queue: WebhookQueue, now: number): boolean {
  const { share } = queue
  const { limits } = share
  const isFailing = isFailingWebhook(queue, now)
  if (share.prompt >= limits.most) return !isFailing && isAllowedReserve(queue, now)
  if (isFailing) return share.failing < limits.failing
  if (isAnswering(queue, now)) return true
  const hasRoom = share.unproven < limits.most
  return (hasRoom && !isFull(share)) || isTrusted(queue) || (hasRoom && share.trials.allows(now))
}

/**
 * The reserve is for webhooks that keep answering while others hang. Half of it is also for those with nothing in
 * flight.
 */
function isAllowedReserve(queue: WebhookQueue, now: number): boolean {
  const { prompt, limits, trials } = queue.share
  const used = prompt - limits.most
  if (isUnharmed(queue, now)) return used < limits.reserve
  if (queue.inFlight > 0 || used >= limits.reserve / 2) return false
  return isAnswering(queue, now) || isTrusted(queue) || trials.allows(now)
}

/** It has answered before. It gets one POST at a time, as a host's webhooks may all hang at once. */
function isTrusted(queue: WebhookQueue): boolean {
  const { trusted, awaiting, limits } = queue.share
  return hasAnswered(queue) && !awaiting.has(queue) && trusted.size < limits.trusted
}

export const hostAllowsProbe = ({ share }: WebhookQueue, now: number) =>
  share.unproven < share.limits.most && (share.failing < share.limits.failing || share.probes.allows(now))

export function block(queue: WebhookQueue): void {
  const { blocked, withBlocked } = queue.share
  blocked[hasAnswered(queue) ? 'known' : 'untested'].add(queue)
  withBlocked.add(queue.share)
}

export function unblock({ blocked }: HostShare, queue: WebhookQueue): void {
  blocked.known.delete(queue)
  blocked.untested.delete(queue)
}

export const hasBlocked = ({ blocked }: HostShare) => blocked.known.size + blocked.untested.size > 0

/** Silent webhooks have filled the share for a second, and this one has never answered. */
export function isBlockedByHost(queue: WebhookQueue, now: number): boolean {
  if (hasAnswered(queue) || !isFull(queue.share)) return false
  return now - awaitingSince(queue.share) > SILENT_MS
}

/** The host's waiting room is used up, and this webhook has not just answered. */
export function isCrowded(queue: WebhookQueue, now: number): boolean {
  const { waiting, waitingBytes, limits } = queue.share
  if (isAnswering(queue, now)) return false
  // a webhook's first POST has twice the room, as others may have taken it
  const most = queue.jobs.length() === 0 ? limits.waiting * 2 : limits.waiting
  return waiting >= most || waitingBytes >= limits.waitingBytes
}

export type EnteredAs = 'answering' | 'unproven' | 'failing'

/** @returns what to pass to `leaveShare`. */
export function enterShare(queue: WebhookQueue, isProbe: boolean, now: number): EnteredAs {
  const { share } = queue
  if (isProbe && share.failing >= share.limits.failing) share.probes.take(now)
  if (isProbe || isFailingWebhook(queue, now)) {
    share.failing += 1
    share.unproven += 1
    return 'failing'
  }
  const isProven = isAnswering(queue, now)
  const isBeyond = isFull(share) || share.unproven >= share.limits.most || share.prompt >= share.limits.most
  if (!isProven && isBeyond) {
    if (isTrusted(queue)) share.trusted.add(queue)
    else share.trials.take(now)
  }
  if (!isProven) share.unproven += 1
  addAwaiting(queue)
  share.peak = Math.max(share.peak, untested(share))
  return isProven ? 'answering' : 'unproven'
}

/**
 * Keeps the longest silent webhook first, because searching for it is too slow. One with a POST in flight, such as a
 * probe, may be silent for longer than those before it.
 */
function addAwaiting(queue: WebhookQueue): void {
  const { awaiting, outOfOrder } = queue.share
  if (queue.inFlight > 0 && !awaiting.has(queue)) outOfOrder.add(queue)
  awaiting.add(queue)
}

type Ending = { ended: Ended; hasOthers: boolean }

/** Call it when a POST has ended, after `onEnded`. */
export function endInShare(queue: WebhookQueue, { ended, hasOthers }: Ending): void {
  const { share } = queue
  if (!share.awaiting.has(queue)) return
  if (ended === 'timed_out') share.cap = Math.max(share.limits.least, share.cap * SHRINKS_TO)
  else if (ended === 'answered' && isFull(share)) share.cap = Math.min(share.cap + 1, share.limits.most)
  if (!hasOthers) forget(queue)
  else if (ended !== 'timed_out') wasHeard(queue)
}

/** @param isIdle the webhook has no POST in flight any more. */
export function leaveShare(queue: WebhookQueue, { as, isIdle }: { as: EnteredAs; isIdle: boolean }): void {
  if (as !== 'answering') queue.share.unproven -= 1
  if (as === 'failing') queue.share.failing -= 1
  if (isIdle) forget(queue)
}

function wasHeard(queue: WebhookQueue): void {
  const { awaiting, outOfOrder } = queue.share
  outOfOrder.delete(queue)
  awaiting.delete(queue)
  awaiting.add(queue)
}

function forget(queue: WebhookQueue): void {
  const { awaiting, outOfOrder, trusted } = queue.share
  outOfOrder.delete(queue)
  awaiting.delete(queue)
  trusted.delete(queue)
}

export function rollShareWindow(share: HostShare, now: number): void {
  if (now - share.windowFrom < WINDOW_MS) return
  share.cap = Math.max(share.limits.least, Math.min(share.cap, share.peak * 2))
  share.peak = untested(share)
  share.windowFrom = now
}
