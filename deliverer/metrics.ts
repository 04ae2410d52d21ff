import { Counter, Gauge, Histogram } from 'prom-client'
import { type AttemptResult, GIVEN_UP_REASONS } from '../delivery/ladder.ts'
import { PAUSED } from '../delivery/targets.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import { registry } from '../process/metrics.ts'
import type { Settlement } from './decide.ts'
import type { Lane } from './lane/lane.ts'

const registers = [registry]
const posts = new Counter({
  name: 'sluice_deliverer_posts_total',
  help: 'POSTs by outcome, and by code when not delivered. Deferred ones were not made.',
  labelNames: ['outcome', 'code'],
  registers,
})
const seconds = new Histogram({
  name: 'sluice_deliverer_post_duration_seconds',
  help: 'Time from the start of a POST to the response headers or the failure.',
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  registers,
})
const settled = new Counter({
  name: 'sluice_deliverer_rounds_total',
  help: 'Deliveries handled, by what came next: done, missed (done, but a webhook never got an attempt), retry, defer, dead, cancelled, or copy (dropped, because Kafka had two records of one retry).',
  labelNames: ['next'],
  registers,
})

// rate() misses the first increase of a series that does not start at 0
for (const next of ['done', 'missed', 'retry', 'defer', 'dead', 'cancelled', 'copy']) settled.inc({ next }, 0)

/** Looking up a series by its labels costs as much as all the other counting. */
const delivered = posts.labels({ outcome: 'delivered', code: '' })
const done = settled.labels({ next: 'done' })

export function countAttempt({ outcome, durationMs }: AttemptResult): void {
  if (outcome.outcome === 'delivered') delivered.inc()
  else posts.inc({ outcome: outcome.outcome, code: outcome.code })
  if (outcome.outcome !== 'deferred') seconds.observe(durationMs / 1000)
}

export const countHeld = () => posts.inc({ outcome: 'deferred', code: PAUSED })

const unlogged = new Counter({
  name: 'sluice_deliverer_attempts_unlogged_total',
  help: 'POSTs that are not in topic attempts because Kafka accepted no writes.',
  registers,
})

export const countUnlogged = (attempts: number) => unlogged.inc(attempts)

const dead = new Counter({
  name: 'sluice_deliverer_dead_total',
  help: 'Deliveries written to topic deliveries.dead, by reason.',
  labelNames: ['reason'],
  registers,
})

// a rate needs a first value
for (const reason of GIVEN_UP_REASONS) dead.inc({ reason }, 0)

export function countSettled(result: Settlement): void {
  if (result.kind === 'done' && !result.missed) done.inc()
  else if (result.kind === 'done') settled.inc({ next: 'missed' })
  else settled.inc({ next: result.kind })
  if (result.kind === 'dead') dead.inc({ reason: result.reason })
}

export const countCopy = () => settled.inc({ next: 'copy' })

export function watchLanes(lanes: Record<string, Lane>, slots: number): void {
  new Gauge({
    name: 'sluice_deliverer_lane_posts',
    help: 'POSTs in a lane: waiting for their webhook or a slot, in flight (prompt), and in flight for over a second (late).',
    labelNames: ['lane', 'state'],
    registers,
    collect() {
      for (const [name, lane] of Object.entries(lanes))
        for (const [state, posts] of Object.entries(lane.count())) this.set({ lane: name, state }, posts)
    },
  })
  new Gauge({
    name: 'sluice_deliverer_lane_slots',
    help: 'Slots of each lane (DELIVERY_SLOTS): the limit of prompt POSTs, and of late ones.',
    registers,
  }).set(slots)
  new Gauge({
    name: 'sluice_deliverer_waiting_endpoints',
    help: 'Webhooks with waiting POSTs in a lane, by what these wait for: an answer, the end of a POST in flight (cap), room at their host, or a slot.',
    labelNames: ['lane', 'waits_for'],
    registers,
    collect() {
      for (const [name, lane] of Object.entries(lanes))
        for (const [waits_for, webhooks] of Object.entries(lane.waits()))
          this.set({ lane: name, waits_for }, webhooks)
    },
  })
}

const breakerChanges = new Counter({
  name: 'sluice_deliverer_breaker_turns_total',
  help: 'Breakers of webhooks and hosts that opened or closed.',
  labelNames: ['of', 'to'],
  registers,
})

export function watchWebhooks(webhooks: Pick<Webhooks, 'count' | 'onChange'>): void {
  webhooks.onChange(({ webhook, breaker }) =>
    breakerChanges.inc({ of: webhook ? 'webhook' : 'host', to: breaker.open ? 'open' : 'closed' }),
  )
  new Gauge({
    name: 'sluice_deliverer_endpoints',
    help: 'Webhooks with deliveries in the last 15 minutes, by the state of their breaker.',
    labelNames: ['breaker'],
    registers,
    collect() {
      for (const [breaker, count] of Object.entries(webhooks.count().webhooks)) this.set({ breaker }, count)
    },
  })
  new Gauge({
    name: 'sluice_deliverer_hosts',
    help: 'Hosts (URL origins) with deliveries in the last 15 minutes, by the state of their breaker, which opens when the host cannot be reached.',
    labelNames: ['breaker'],
    registers,
    collect() {
      for (const [breaker, count] of Object.entries(webhooks.count().hosts)) this.set({ breaker }, count)
    },
  })
}
