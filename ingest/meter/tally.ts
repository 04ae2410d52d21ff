import { Counter, type Registry } from 'prom-client'
import type { Answer } from '../answer.ts'
import { CALL_TYPES, type CallType } from '../call/accept.ts'
import type { RouteType } from '../call/sender.ts'
import type { Code } from '../codes.ts'
import type { Upshot } from '../upshot.ts'

export type Tally = {
  /** What a request has come to; `code` is that of its answer, and counts for all of it when it is not `ok`. */
  count(type: RouteType, upshot: Upshot, code: Answer['code']): void
  /** A request is refused before it is read. */
  refused(type: RouteType | 'unknown', code: Code): void
  /** So many rejected calls are not in topic `events.rejected`. */
  unlogged(calls: number): void
}

type ByType = Record<CallType, number>
/** `source` is empty when the write key belongs to none. */
type Labels = { source: string; type: string; code?: Code }
/** By their labels as one text. */
type Sums = Map<string, { labels: Labels; count: number }>

export function createTally(register: Registry): Tally {
  const accepted = new Map<string, ByType>()
  const rejected: Sums = new Map()
  const suppressed: Sums = new Map()
  countAccepted(register, accepted)
  countSums(register, rejected, {
    name: 'sluice_ingest_calls_rejected_total',
    help: 'Calls, and requests refused as a whole, by the code of their answer.',
    labelNames: ['source', 'type', 'code'],
  })
  countSums(register, suppressed, {
    name: 'sluice_ingest_calls_suppressed_total',
    help: 'Calls answered with success and dropped: their user is on the suppression list.',
    labelNames: ['source', 'type'],
  })
  const unlogged = new Counter({
    name: 'sluice_ingest_rejected_unlogged_total',
    help: 'Rejected calls that are not in topic events.rejected, because Kafka takes no writes of it.',
    registers: [register],
  })
  const reject = (labels: Required<Labels>) => add(rejected, labels)

  function accept(source: string, types: readonly CallType[]): void {
    const byType = accepted.get(source) ?? { identify: 0, track: 0, page: 0, screen: 0, group: 0, alias: 0 }
    accepted.set(source, byType)
    for (const type of types) byType[type] += 1
  }

  return {
    count(type, { sourceId: source = '', ...upshot }, code) {
      if (code !== 'ok') reject({ source, type, code })
      else {
        accept(source, upshot.accepted)
        for (const { type: its, code: why } of upshot.rejected) reject({ source, type: its, code: why })
        for (const its of upshot.suppressed) add(suppressed, { source, type: its })
      }
    },
    refused: (type, code) => reject({ source: '', type, code }),
    unlogged: (calls) => unlogged.inc(calls),
  }
}

function add(sums: Sums, labels: Labels): void {
  const key = `${labels.source} ${labels.type} ${labels.code}`
  const known = sums.get(key)
  if (known) known.count += 1
  else sums.set(key, { labels, count: 1 })
}

function countAccepted(register: Registry, accepted: ReadonlyMap<string, ByType>): void {
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
}

type Said = { name: string; help: string; labelNames: (keyof Labels)[] }

function countSums(register: Registry, sums: Sums, said: Said): void {
  new Counter({
    ...said,
    registers: [register],
    collect() {
      this.reset()
      for (const { labels, count } of sums.values()) this.inc(labels, count)
    },
  })
}
