import { Counter } from 'prom-client'
import { registry } from '../metrics.ts'
import type { Event } from '../schemas/event.ts'

const registers = [registry]
const events = new Counter({
  name: 'sluice_router_events_total',
  help: 'Events routed, by type.',
  labelNames: ['type'],
  registers,
})
const deliveries = new Counter({
  name: 'sluice_router_deliveries_total',
  help: 'Deliveries made of them.',
  registers,
})

export function routed({ type }: Event, count: number): void {
  events.inc({ type })
  deliveries.inc(count)
}
