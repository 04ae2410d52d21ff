import { Counter, Gauge } from 'prom-client'
import { registry } from '../metrics.ts'
import type { Event } from '../schemas/event.ts'
import type { Settings } from '../schemas/follow.ts'

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

/** Shows an operator whether this process has followed a change. */
export function watchSettings({ destinations }: Pick<Settings, 'destinations'>): void {
  new Gauge({
    name: 'sluice_router_destinations',
    help: 'Destinations in the settings as the router knows them.',
    registers,
    collect() {
      this.set(destinations.size)
    },
  })
}
