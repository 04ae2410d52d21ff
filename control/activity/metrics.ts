import { Counter, Gauge } from 'prom-client'
import type { Logger } from '../../process/log.ts'
import { registry } from '../../process/metrics.ts'
import { UNREADABLE, type Unreadable } from './recent-records.ts'

const registers = [registry]
const unreadable = new Counter({
  name: 'sluice_control_unreadable_total',
  help: 'Records that the API does not show, as they could not be read, by topic and reason.',
  labelNames: ['topic', 'reason'],
  registers,
})

export function countUnreadable(topic: string): (reason: Unreadable) => void {
  // a rate needs a beginning
  for (const reason of UNREADABLE) unreadable.inc({ topic, reason }, 0)
  return (reason) => unreadable.inc({ topic, reason })
}

/** How many records of each topic the API has at hand. */
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
  help: 'Calls (rate) and messages (slow) that were not shown to those who watch a source: too many a second, or read too slowly.',
  labelNames: ['reason'],
  registers,
})

export const countSkipped = (reason: 'rate' | 'slow') => (count: number) => liveSkipped.inc({ reason }, count)

export function watchLive({ watchers }: { watchers: () => number }): void {
  new Gauge({
    name: 'sluice_control_live_watchers',
    help: 'Who watches calls as they come, on this process.',
    registers,
    collect() {
      this.set(watchers())
    },
  })
}

const wrongTokens = new Counter({
  name: 'sluice_control_wrong_tokens_total',
  help: 'Requests and sign-ins with a token that is none of this system.',
  registers,
})

/** The first ten of a network are logged, and then one in 6 s; all are counted. */
export function tellingWrongTokens(
  log: Pick<Logger, 'warn'>,
): (address: string, isOneOfMany: boolean) => void {
  return (address, isOneOfMany) => {
    wrongTokens.inc()
    if (!isOneOfMany) log.warn({ audit: true, address }, 'a wrong token')
  }
}

const refusedConnections = new Counter({
  name: 'sluice_control_connections_refused_total',
  help: 'Connections closed because too many were open.',
  registers,
})

export const countRefusedConnection = () => refusedConnections.inc()
