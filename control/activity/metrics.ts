import { Counter, Gauge } from 'prom-client'
import { registry } from '../../process/metrics.ts'
import { UNREADABLE, type Unreadable } from './records/following.ts'

const registers = [registry]
const unreadable = new Counter({
  name: 'sluice_control_unreadable_total',
  help: 'Records that the API cannot show because they could not be read, by topic and reason.',
  labelNames: ['topic', 'reason'],
  registers,
})

export function countUnreadable(topic: string): (reason: Unreadable) => void {
  // a rate needs an initial value
  for (const reason of UNREADABLE) unreadable.inc({ topic, reason }, 0)
  return (reason) => unreadable.inc({ topic, reason })
}

export function watchHeld(held: Readonly<Record<string, () => number>>): void {
  new Gauge({
    name: 'sluice_control_held',
    help: 'Records held in memory, by topic.',
    labelNames: ['topic'],
    registers,
    collect() {
      for (const [topic, count] of Object.entries(held)) this.set({ topic }, count())
    },
  })
}

const liveSkipped = new Counter({
  name: 'sluice_control_live_skipped_total',
  help: 'Calls (rate) and messages (slow) not shown to people who watch live: too many a second, or read too slowly.',
  labelNames: ['reason'],
  registers,
})

export const countSkipped = (reason: 'rate' | 'slow') => (count: number) => liveSkipped.inc({ reason }, count)

export function watchLive({ watchers }: { watchers: () => number }): void {
  new Gauge({
    name: 'sluice_control_live_watchers',
    help: 'Clients of this process that watch calls live.',
    registers,
    collect() {
      this.set(watchers())
    },
  })
}
