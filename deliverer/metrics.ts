import { Counter, Gauge, Histogram } from 'prom-client'
import { registry } from '../metrics.ts'
import type { Next, Posted } from './ladder.ts'
import type { Lane } from './lane.ts'

const registers = [registry]
const posts = new Counter({
  name: 'sluice_deliverer_posts_total',
  help: 'POSTs by outcome, and code when not delivered.',
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
  help: 'Attempts by what came next: done, retry, dead or cancelled.',
  labelNames: ['next'],
  registers,
})

export function countPost({ outcome, durationMs }: Posted): void {
  posts.inc({ outcome: outcome.outcome, code: 'code' in outcome ? outcome.code : '' })
  seconds.observe(durationMs / 1000)
}

const unlogged = new Counter({
  name: 'sluice_deliverer_attempts_unlogged_total',
  help: 'POSTs that are not in topic attempts, because Kafka takes no writes.',
  registers,
})

export const countUnlogged = () => unlogged.inc()

export const countSettled = (next: Next | { kind: 'cancelled' }) => settled.inc({ next: next.kind })

export function watchLanes(lanes: Record<string, Lane>): void {
  new Gauge({
    name: 'sluice_deliverer_lane_deliveries',
    help: 'Deliveries in a lane, by state.',
    labelNames: ['lane', 'state'],
    registers,
    collect() {
      for (const [lane, { running, waiting }] of Object.entries(lanes)) {
        this.set({ lane, state: 'running' }, running())
        this.set({ lane, state: 'waiting' }, waiting())
      }
    },
  })
}
