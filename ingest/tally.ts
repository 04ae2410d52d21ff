import { Counter, type Registry } from 'prom-client'
import type { Produced } from '../kafka/produce.ts'
import { CALL_TYPES, type CallType } from './accept.ts'
import type { Code } from './codes.ts'
import type { Judgement, RouteType } from './judge.ts'

export type Tally = {
  /** What a request has come to; one that Kafka did not acknowledge counts as `unavailable`. */
  count(type: RouteType, judgement: Judgement, produced: Produced): void
  /** A request is refused before it is read. */
  refused(type: RouteType, code: Code): void
}

type ByType = Record<CallType, number>
/** `source` is empty when the write key belongs to none. */
type Labels = { source: string; type: string; code: Code }

export function createTally(register: Registry): Tally {
  const accepted = new Map<string, ByType>()
  const rejected = new Map<string, { labels: Labels; count: number }>()
  countersOf(register, { accepted, rejected })

  function reject(labels: Labels): void {
    const key = `${labels.source} ${labels.type} ${labels.code}`
    const known = rejected.get(key)
    if (known) known.count += 1
    else rejected.set(key, { labels, count: 1 })
  }

  function accept(source: string, { events }: Pick<Judgement, 'events'>): void {
    const byType = accepted.get(source) ?? { identify: 0, track: 0, page: 0, screen: 0, group: 0, alias: 0 }
    accepted.set(source, byType)
    for (const { type } of events) if (type !== 'delete') byType[type] += 1
  }

  return {
    count(type, judgement, produced) {
      const source = judgement.sourceId ?? ''
      const whole = produced === 'acked' ? judgement.refused : 'unavailable'
      if (whole) reject({ source, type, code: whole })
      else {
        accept(source, judgement)
        for (const { type: its, code } of judgement.rejected) reject({ source, type: its, code })
      }
    },
    refused: (type, code) => reject({ source: '', type, code }),
  }
}

type Sums = {
  accepted: ReadonlyMap<string, ByType>
  rejected: ReadonlyMap<string, { labels: Labels; count: number }>
}

function countersOf(register: Registry, { accepted, rejected }: Sums): void {
  new Counter({
    name: 'sluice_ingest_calls_accepted_total',
    help: 'Calls answered with success: they are in topic events.',
    labelNames: ['source', 'type'],
    registers: [register],
    collect() {
      this.reset()
      for (const [source, byType] of accepted)
        for (const type of CALL_TYPES) if (byType[type] > 0) this.inc({ source, type }, byType[type])
    },
  })
  new Counter({
    name: 'sluice_ingest_calls_rejected_total',
    help: 'Calls, and requests refused as a whole, by the code of their answer.',
    labelNames: ['source', 'type', 'code'],
    registers: [register],
    collect() {
      this.reset()
      for (const { labels, count } of rejected.values()) this.inc(labels, count)
    },
  })
}
