import { Counter, Gauge } from 'prom-client'
import type { RulesRun } from '../delivery/routing/apply-rules.ts'
import { createLogLimit, type Logger } from '../process/log.ts'
import { registry } from '../process/metrics.ts'
import type { Event } from '../schemas/event.ts'
import type { Settings } from '../settings/follow.ts'
import type { Duplicates } from './duplicates/duplicates.ts'
import type { RouterParts } from './run.ts'

const registers = [registry]

/** Since the last scrape. A labelled counter would cost each event as much as hashing its id. */
const routedOf = new Map<string, number>()
let made = 0

new Counter({
  name: 'sluice_router_events_total',
  help: 'Events routed, by type.',
  labelNames: ['type'],
  registers,
  collect() {
    for (const [type, count] of routedOf) this.inc({ type }, count)
    routedOf.clear()
  },
})
new Counter({
  name: 'sluice_router_deliveries_total',
  help: 'Deliveries made from these events.',
  registers,
  collect() {
    this.inc(made)
    made = 0
  },
})

const ruledBy = new Map<RulesRun['outcome'], number>([
  ['sent', 0],
  ['filtered', 0],
  ['sampled_out', 0],
  ['failed', 0],
])

new Counter({
  name: 'sluice_router_rules_total',
  help: 'Outcomes of rules, one per event and destination: sent, filtered, sampled_out or failed (a dead letter). A destination whose filter names the events it takes is not counted for other events.',
  labelNames: ['outcome'],
  registers,
  collect() {
    for (const [outcome, count] of ruledBy) {
      this.inc({ outcome }, count)
      ruledBy.set(outcome, 0)
    }
  },
})

const duplicates = new Counter({
  name: 'sluice_router_duplicates_total',
  help: 'Events dropped as duplicates: same messageId, source and user within the window.',
  registers,
})
const windows = new Counter({
  name: 'sluice_router_windows_total',
  help: 'Partitions taken over. Outcome loaded: their routed ids were loaded before routing began. Late: duplicates may have passed.',
  labelNames: ['outcome'],
  registers,
})

const unwritten = new Counter({
  name: 'sluice_router_ids_unwritten_total',
  help: 'Ids of routed events that were not written to topic router.seen in time: their duplicates may pass after a restart.',
  registers,
})

// a rate needs a first value
for (const outcome of ['loaded', 'late']) windows.inc({ outcome }, 0)

export const duplicate = () => duplicates.inc()
export const idsUnwritten = (ids: number) => unwritten.inc(ids)
export const windowLoaded = (outcome: 'loaded' | 'late') => windows.inc({ outcome })

export function routed({ type }: Event, count: number): void {
  routedOf.set(type, (routedOf.get(type) ?? 0) + 1)
  made += count
}

const REPEAT_MS = 60_000

export function ruleWatcher(log: Pick<Logger, 'warn'>): RouterParts['onRuled'] {
  const mayLog = createLogLimit(REPEAT_MS)
  return ({ id }, ruled) => {
    ruledBy.set(ruled.outcome, (ruledBy.get(ruled.outcome) ?? 0) + 1)
    if (ruled.outcome !== 'failed' || !mayLog(id)) return
    const { code, message } = ruled
    log.warn({ destinationId: id, code, message }, 'the rules of a destination fail: see its dead letters')
  }
}

export function watchSettings({ destinations }: Pick<Settings, 'destinations'>): void {
  new Gauge({
    name: 'sluice_router_destinations',
    help: 'Destinations in the settings that the router has read.',
    registers,
    collect() {
      this.set(destinations.size)
    },
  })
}

export function watchDuplicates({ size }: Pick<Duplicates, 'size'>): void {
  new Gauge({
    name: 'sluice_router_ids',
    help: 'Routed ids remembered in all partitions of this process, to detect duplicates.',
    registers,
    collect() {
      this.set(size().ids)
    },
  })
  new Gauge({
    name: 'sluice_router_ids_bytes',
    help: 'Bytes of memory that the remembered ids take.',
    registers,
    collect() {
      this.set(size().bytes)
    },
  })
}
