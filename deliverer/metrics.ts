import { Counter, Gauge, Histogram } from 'prom-client'
import { type AttemptResult, DEAD_REASONS } from '../delivery/ladder.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import { registry } from '../process/metrics.ts'
import type { Settlement } from './decide.ts'
import type { Lane } from './lane/lane.ts'

const registers = [registry]
const posts = new Counter({
  name: 'sluice_deliverer_posts_total',
  help: 'POSTs by outcome, and code when not delivered; deferred ones were not made.',
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
  help: 'Attempts by what came next: done, missed (done, but a URL never got an attempt), retry, defer, dead or cancelled.',
  labelNames: ['next'],
  registers,
})

/** To look a series up by its labels costs as much as all else that is counted. */
const delivered = posts.labels({ outcome: 'delivered', code: '' })
const done = settled.labels({ next: 'done' })

export function countAttempt({ outcome, durationMs }: AttemptResult): void {
  if (outcome.outcome === 'delivered') delivered.inc()
  else posts.inc({ outcome: outcome.outcome, code: outcome.code })
  if (outcome.outcome !== 'deferred') seconds.observe(durationMs / 1000)
}

const unlogged = new Counter({
  name: 'sluice_deliverer_attempts_unlogged_total',
  help: 'POSTs that are not in topic attempts, because Kafka takes no writes of it.',
  registers,
})

export const countUnlogged = (attempts: number) => unlogged.inc(attempts)

const dead = new Counter({
  name: 'sluice_deliverer_dead_total',
  help: 'Deliveries given up, by reason: they are in topic deliveries.dead.',
  labelNames: ['reason'],
  registers,
})

// a rate needs a beginning
for (const reason of DEAD_REASONS) dead.inc({ reason }, 0)

export function countSettled(result: Settlement): void {
  if (result.kind === 'done' && !result.missed) done.inc()
  else if (result.kind === 'done') settled.inc({ next: 'missed' })
  else settled.inc({ next: result.kind })
  if (result.kind === 'dead') dead.inc({ reason: result.reason })
}

export function watchLanes(lanes: Record<string, Lane>, slots: number): void {
  new Gauge({
    name: 'sluice_deliverer_lane_posts',
    help: 'POSTs in a lane: waiting for their webhook or a slot, under way (prompt), and under way for over a second (late).',
    labelNames: ['lane', 'state'],
    registers,
    collect() {
      for (const [name, lane] of Object.entries(lanes))
        for (const [state, posts] of Object.entries(lane.count())) this.set({ lane: name, state }, posts)
    },
  })
  new Gauge({
    name: 'sluice_deliverer_lane_slots',
    help: 'Slots of each lane (DELIVERY_SLOTS): so many POSTs may be prompt, and as many late.',
    registers,
  }).set(slots)
  new Gauge({
    name: 'sluice_deliverer_waiting_endpoints',
    help: 'Webhooks with waiting POSTs in a lane, by what these wait for: an answer, the end of a POST under way (cap), room at their host, or a slot.',
    labelNames: ['lane', 'waits_for'],
    registers,
    collect() {
      for (const [name, lane] of Object.entries(lanes))
        for (const [waits_for, webhooks] of Object.entries(lane.waits()))
          this.set({ lane: name, waits_for }, webhooks)
    },
  })
}

const turns = new Counter({
  name: 'sluice_deliverer_breaker_turns_total',
  help: 'Breakers of webhooks and hosts that have opened or closed.',
  labelNames: ['of', 'to'],
  registers,
})

export function watchWebhooks({ count, onChange }: Pick<Webhooks, 'count' | 'onChange'>): void {
  onChange(({ webhook, breaker }) =>
    turns.inc({ of: webhook ? 'webhook' : 'host', to: breaker.open ? 'open' : 'closed' }),
  )
  new Gauge({
    name: 'sluice_deliverer_endpoints',
    help: 'Webhooks that deliveries went to in the last 15 minutes, by the state of their breaker.',
    labelNames: ['breaker'],
    registers,
    collect() {
      for (const [breaker, webhooks] of Object.entries(count().webhooks)) this.set({ breaker }, webhooks)
    },
  })
  new Gauge({
    name: 'sluice_deliverer_hosts',
    help: 'Hosts (URL origins) that deliveries went to in the last 15 minutes, by the state of their breaker. It opens when the host cannot be reached.',
    labelNames: ['breaker'],
    registers,
    collect() {
      for (const [breaker, hosts] of Object.entries(count().hosts)) this.set({ breaker }, hosts)
    },
  })
}
