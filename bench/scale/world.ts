import { createHistogram } from 'node:perf_hooks'
import type { Config } from '../../config.ts'
import { defer } from '../../deliverer/decide.ts'
import { createLane, type Lane } from '../../deliverer/lane/lane.ts'
import type { SlotLease } from '../../deliverer/lane/state.ts'
import type { Ended } from '../../delivery/breaker.ts'
import { IDLE_MS } from '../../delivery/connections.ts'
import { type Next, next } from '../../delivery/ladder.ts'
import { UNATTEMPTED } from '../../delivery/routing.ts'
import { createWebhooks } from '../../delivery/webhooks.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { exponential, type Receiver } from './traffic.ts'

/** Microseconds of a deliverer's CPU. */
export type Costs = { take: number; post: number; connect: number; defer: number; rung: number }
export type WorldOptions = { delivery: Config['delivery']; costs: Costs; random: () => number }

type Item = { receiver: Receiver; delivery: Delivery; cameAt: number }
type Partition = { items: Item[]; head: number; restUntil: number; unsettled: number }
type Stream = { lane: Lane; partitions: Partition[] }

const PARTITIONS = 12
/** As in deliverer/consumers.ts. */
const HIGH_WATER = 10_000
const LOOK_MS = 50
const BUSY = 0.9
const SLOW_MS = 2_000
const SOON_MS = 20
const MEAN_MS = 40

/**
 * One deliverer on a simulated clock of milliseconds. Its decisions are the real ones (lane, breaker, cap, queues,
 * deferral, ladder). Kafka is a list of records, a receiver is the time of its answer, and each action has a CPU cost.
 * Nothing begins while the CPU is busy.
 */
export function createWorld({
  delivery: { ladder, windowMs, responseTimeoutMs, slots },
  costs,
  random,
}: WorldOptions) {
  let clock = 0
  /** When the CPU becomes free, in milliseconds. */
  let freeAt = 0
  let [isBusy, busyMs] = [false, 0]
  const coming = new Map<number, (() => void)[]>()
  const webhooks = createWebhooks()
  const lane = () => createLane({ slots, webhooks, isBusy: () => isBusy, now: () => clock })
  const stream = (): Stream => ({
    lane: lane(),
    partitions: Array.from({ length: PARTITIONS }, () => ({
      items: [],
      head: 0,
      restUntil: 0,
      unsettled: 0,
    })),
  })
  const [first, retry] = [stream(), stream()]
  const usedAt = new Map<string, number>()
  const counts = newCounts()

  function spend(us: number): void {
    freeAt = Math.max(clock, freeAt) + us / 1_000
    busyMs += us / 1_000
  }

  function later(ms: number, act: () => void): void {
    const at = Math.ceil(clock + Math.max(1, ms))
    const others = coming.get(at)
    if (others) others.push(act)
    else coming.set(at, [act])
  }

  function put({ partitions }: Stream, item: Item): void {
    partitions[Math.floor(random() * PARTITIONS)]?.items.push(item)
  }

  /** Treats the lane's answer as deliverer/run.ts does. @returns false when the item stays in its partition. */
  function take(item: Item, partition: Partition, lane: Lane): boolean {
    const { webhook, origin } = item.receiver
    const target = { webhook, origin }
    const pressure = lane.pressure(target)
    if (pressure) partition.restUntil = clock + pressure.restMs
    if (pressure?.isFull) return false
    spend(costs.take)
    partition.unsettled += 1
    const settle = (decided: Next) => {
      partition.unsettled -= 1
      follow(item, decided)
    }
    const refuse = ({ waitMs }: { waitMs: number }) => {
      spend(costs.defer)
      counts.deferred += 1
      if (item.delivery.deferrals === 0) webhooks.deferred([target], clock)
      settle(defer(item.delivery, waitMs, clock, { ladder, windowMs }))
    }
    const refusal = lane.offer(target, {
      bytes: 1_000,
      isNeeded: () => true,
      defer: refuse,
      drop: () => {},
      begin: (lease) => post(item, lease, settle),
    })
    if (refusal) refuse(refusal)
    return true
  }

  function post(item: Item, lease: SlotLease, settle: (decided: Next) => void): void {
    const { receiver, delivery, cameAt } = item
    const isNew = clock - (usedAt.get(receiver.webhook) ?? Number.NEGATIVE_INFINITY) > IDLE_MS
    spend(costs.post + (isNew ? costs.connect : 0))
    counts.posts += 1
    if (isNew) counts.opened += 1
    if (receiver.kind === 'silent' || receiver.kind === 'failing') counts.spent += 1
    if (receiver.kind === 'fine' && delivery.attempt === 0)
      counts.waits.record(Math.max(1, Math.round((freeAt - cameAt) * 1_000)))
    const startedAt = clock
    const [ended, ms] = endingOf(receiver)
    later(ms, () => {
      if (ended === 'answered') usedAt.set(receiver.webhook, clock)
      lease.ended(ended, true)
      const outcome =
        ended === 'answered'
          ? { outcome: 'delivered' as const, status: 200 }
          : { outcome: 'retry' as const, code: 'timeout' }
      const posted = { urlIndex: 0, url: '', startedAt, durationMs: ms, outcome, response: null }
      settle(next(delivery, [posted], clock, { ladder, windowMs }))
      lease.release()
    })
  }

  function endingOf({ kind }: Receiver): [Ended, number] {
    if (kind === 'silent') return ['timed_out', responseTimeoutMs]
    if (kind === 'slow') return ['answered', SLOW_MS]
    return [kind === 'failing' ? 'failed' : 'answered', SOON_MS + exponential(MEAN_MS, random)]
  }

  function follow(item: Item, decided: Next): void {
    if (decided.kind !== 'retry' && decided.kind !== 'defer') return
    counts.toRungs += 1
    later(decided.dueAt - clock, () => {
      spend(costs.rung)
      put(retry, { ...item, delivery: decided.delivery })
    })
  }

  function work({ lane, partitions }: Stream): boolean {
    let worked = false
    for (const partition of partitions) {
      if (freeAt >= clock + 1 || lane.isFull()) return worked
      if (partition.restUntil > clock || partition.unsettled >= HIGH_WATER) continue
      const item = partition.items[partition.head]
      if (!item || !take(item, partition, lane)) continue
      worked = true
      partition.head += 1
      if (partition.head * 2 <= partition.items.length) continue
      partition.items = partition.items.slice(partition.head)
      partition.head = 0
    }
    return worked
  }

  return {
    counts,
    /** Adds a fresh delivery to Kafka. */
    come(receiver: Receiver): void {
      counts.came += 1
      if (receiver.kind === 'fine') counts.cameFine += 1
      put(first, { receiver, delivery: { ...NEW, routedAt: clock }, cameAt: clock })
    },
    /** Advances by one millisecond. */
    tick(): void {
      clock += 1
      for (const act of coming.get(clock) ?? []) act()
      coming.delete(clock)
      if (clock % LOOK_MS === 0) for (const { lane } of [first, retry]) lane.tick()
      if (clock % 100 === 0) {
        isBusy = busyMs > BUSY * 100
        counts.busyMs += busyMs
        busyMs = 0
      }
      counts.late = Math.max(counts.late, first.lane.count().late)
      while (freeAt < clock + 1 && [first, retry].map(work).includes(true));
    },
    waitingInKafka: () => first.partitions.reduce((sum, { items, head }) => sum + items.length - head, 0),
    endpoints: () => webhooks.count().webhooks,
  }
}

/**
 * `waits`: microseconds from Kafka to the wire, for first attempts to fine receivers. `spent`: POSTs to receivers that
 * hang or fail.
 */
const newCounts = () => ({
  came: 0,
  cameFine: 0,
  posts: 0,
  opened: 0,
  spent: 0,
  deferred: 0,
  toRungs: 0,
  busyMs: 0,
  late: 0,
  waits: createHistogram(),
})

const NEW: Delivery = {
  ...UNATTEMPTED,
  ...{ deliveryId: '', messageId: '', sourceId: '', destinationId: '', type: 'track', body: '', routedAt: 0 },
}
