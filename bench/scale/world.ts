import { createHistogram } from 'node:perf_hooks'
import type { Config } from '../../config.ts'
import { defer } from '../../deliverer/decide.ts'
import { createLane, type Lane } from '../../deliverer/lane/lane.ts'
import type { SlotLease } from '../../deliverer/lane/state.ts'
import type { Ended } from '../../delivery/breaker.ts'
import { type Next, next } from '../../delivery/ladder.ts'
import { IDLE_MS } from '../../delivery/post/connections.ts'
import { UNATTEMPTED } from '../../delivery/routing/routing.ts'
import { createWebhooks, type Webhooks } from '../../delivery/webhooks.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { exponential, type Receiver } from './traffic.ts'

/** Microseconds of a deliverer's CPU. */
export type Costs = { take: number; post: number; connect: number; defer: number; rung: number }
export type WorldOptions = { delivery: Config['delivery']; costs: Costs; random: () => number }

type Item = { receiver: Receiver; delivery: Delivery; cameAt: number }
type Partition = { items: Item[]; head: number; restUntil: number; unsettled: number }
type Stream = { lane: Lane; partitions: Partition[] }

type Simulation = WorldOptions & {
  machine: Machine
  webhooks: Webhooks
  counts: ReturnType<typeof newCounts>
  retry: Stream
  /** When each webhook's connection was last used, in milliseconds. */
  usedAt: Map<string, number>
}

const PARTITIONS = 12
/** As in deliverer/consumers.ts. */
const HIGH_WATER = 10_000
const LOOK_MS = 50
const BUSY = 0.9
const BUSY_WINDOW_MS = 100
const SLOW_MS = 2_000
const SOON_MS = 20
const MEAN_MS = 40

/**
 * One deliverer on a simulated clock of milliseconds. Its decisions are the real ones (lane, breaker, cap, queues,
 * deferral, ladder). Kafka is a list, a receiver is the time of its answer, and each action costs CPU. Nothing begins
 * while the CPU is busy.
 */
export function createWorld(options: WorldOptions) {
  const machine = createMachine()
  const webhooks = createWebhooks()
  const { slots } = options.delivery
  const lane = () => createLane({ slots, webhooks, isBusy: machine.isBusy, now: machine.now })
  const [first, retry] = [createStream(lane()), createStream(lane())]
  const counts = newCounts()
  const world: Simulation = { ...options, machine, webhooks, counts, retry, usedAt: new Map() }

  return {
    counts,
    /** Adds a fresh delivery to Kafka. */
    come(receiver: Receiver): void {
      const now = machine.now()
      counts.came += 1
      if (receiver.kind === 'fine') counts.cameFine += 1
      put(first, { receiver, delivery: { ...NEW, routedAt: now }, cameAt: now }, options.random)
    },
    /** Advances by one millisecond. */
    tick(): void {
      machine.advance()
      if (machine.now() % LOOK_MS === 0) for (const { lane } of [first, retry]) lane.tick()
      if (machine.now() % BUSY_WINDOW_MS === 0) counts.busyMs += machine.endBusyWindow()
      counts.late = Math.max(counts.late, first.lane.count().late)
      while (machine.isFree() && [first, retry].map((stream) => work(world, stream)).includes(true));
    },
    waitingInKafka: () => first.partitions.reduce((sum, { items, head }) => sum + items.length - head, 0),
  }
}

export type World = ReturnType<typeof createWorld>

type Machine = ReturnType<typeof createMachine>

/** A clock that counts milliseconds, a schedule, and one CPU. */
function createMachine() {
  let clock = 0
  /** When the CPU becomes free, in milliseconds. */
  let freeAt = 0
  let [isBusy, busyMs] = [false, 0]
  const due = new Map<number, (() => void)[]>()

  return {
    now: () => clock,
    freeAt: () => freeAt,
    isFree: () => freeAt < clock + 1,
    /** Whether the CPU was busy in the last window. */
    isBusy: () => isBusy,
    spend(us: number): void {
      freeAt = Math.max(clock, freeAt) + us / 1_000
      busyMs += us / 1_000
    },
    later(ms: number, act: () => void): void {
      const at = Math.ceil(clock + Math.max(1, ms))
      const others = due.get(at)
      if (others) others.push(act)
      else due.set(at, [act])
    },
    /** Advances by one millisecond. */
    advance(): void {
      clock += 1
      for (const act of due.get(clock) ?? []) act()
      due.delete(clock)
    },
    /** @returns the milliseconds of CPU used in the window */
    endBusyWindow(): number {
      const used = busyMs
      isBusy = used > BUSY * BUSY_WINDOW_MS
      busyMs = 0
      return used
    },
  }
}

const createStream = (lane: Lane): Stream => ({
  lane,
  partitions: Array.from({ length: PARTITIONS }, () => ({ items: [], head: 0, restUntil: 0, unsettled: 0 })),
})

function put({ partitions }: Stream, item: Item, random: () => number): void {
  partitions[Math.floor(random() * PARTITIONS)]?.items.push(item)
}

/** One delivery from each partition that may go on. @returns whether it took any */
function work(world: Simulation, { lane, partitions }: Stream): boolean {
  const { machine } = world
  let worked = false
  for (const partition of partitions) {
    if (!machine.isFree() || lane.isFull()) return worked
    if (partition.restUntil > machine.now() || partition.unsettled >= HIGH_WATER) continue
    const item = partition.items[partition.head]
    if (!item || !take(world, item, { partition, lane })) continue
    worked = true
    partition.head += 1
    if (partition.head * 2 <= partition.items.length) continue
    partition.items = partition.items.slice(partition.head)
    partition.head = 0
  }
  return worked
}

type PartitionInLane = { partition: Partition; lane: Lane }

/** As deliverer/run.ts treats the lane's answer. @returns false when the item stays in its partition */
function take(world: Simulation, item: Item, { partition, lane }: PartitionInLane): boolean {
  const { machine, webhooks, counts, costs } = world
  const { ladder, windowMs } = world.delivery
  const { webhook, origin } = item.receiver
  const target = { webhook, origin }
  const pressure = lane.pressure(target)
  if (pressure) partition.restUntil = machine.now() + pressure.restMs
  if (pressure?.isFull) return false
  machine.spend(costs.take)
  partition.unsettled += 1
  const settle = (decided: Next) => {
    partition.unsettled -= 1
    follow(world, item, decided)
  }
  const refuse = ({ waitMs }: { waitMs: number }) => {
    machine.spend(costs.defer)
    counts.deferred += 1
    if (item.delivery.deferrals === 0) webhooks.deferred([target], machine.now())
    settle(defer(item.delivery, { waitMs, now: machine.now() }, { ladder, windowMs }))
  }
  const refusal = lane.offer(target, {
    bytes: 1_000,
    isNeeded: () => true,
    defer: refuse,
    drop: () => {},
    begin: (lease) => post(world, item, { lease, settle }),
  })
  if (refusal) refuse(refusal)
  return true
}

type Posting = { lease: SlotLease; settle: (decided: Next) => void }

function post(world: Simulation, { receiver, delivery, cameAt }: Item, { lease, settle }: Posting): void {
  const { machine, counts, costs, usedAt } = world
  const { ladder, windowMs } = world.delivery
  const startedAt = machine.now()
  const isNew = startedAt - (usedAt.get(receiver.webhook) ?? Number.NEGATIVE_INFINITY) > IDLE_MS
  machine.spend(costs.post + (isNew ? costs.connect : 0))
  counts.posts += 1
  if (isNew) counts.opened += 1
  if (receiver.kind === 'silent' || receiver.kind === 'failing') counts.spent += 1
  if (receiver.kind === 'fine' && delivery.attempt === 0)
    counts.waits.record(Math.max(1, Math.round((machine.freeAt() - cameAt) * 1_000)))
  const [ended, ms] = endingOf(receiver, world)
  machine.later(ms, () => {
    if (ended === 'answered') usedAt.set(receiver.webhook, machine.now())
    lease.ended(ended, true)
    const outcome =
      ended === 'answered'
        ? { outcome: 'delivered' as const, status: 200 }
        : { outcome: 'retry' as const, code: 'timeout' }
    const posted = { urlIndex: 0, url: '', startedAt, durationMs: ms, outcome, response: null }
    settle(next(delivery, { results: [posted], now: machine.now() }, { ladder, windowMs }))
    lease.release()
  })
}

function endingOf({ kind }: Receiver, { delivery, random }: WorldOptions): [Ended, number] {
  if (kind === 'silent') return ['timed_out', delivery.responseTimeoutMs]
  if (kind === 'slow') return ['answered', SLOW_MS]
  return [kind === 'failing' ? 'failed' : 'answered', SOON_MS + exponential(MEAN_MS, random)]
}

/** A delivery that is not settled comes back when its rung is due. */
function follow({ machine, counts, costs, retry, random }: Simulation, item: Item, decided: Next): void {
  if (decided.kind !== 'retry' && decided.kind !== 'defer') return
  counts.toRungs += 1
  machine.later(decided.dueAt - machine.now(), () => {
    machine.spend(costs.rung)
    put(retry, { ...item, delivery: decided.delivery }, random)
  })
}

/**
 * `waits`: microseconds from Kafka to the wire, of first attempts to fine receivers. `spent`: POSTs to receivers that
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
