import type { Server } from 'node:http'
import { promisify } from 'node:util'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { CALL_TYPES, type CallType } from '../settings/settings.ts'
import type { Answer, Code, Listed } from './answer.ts'
import type { RouteType } from './call/authenticate.ts'
import type { StatedType } from './call/batch.ts'
import type { MemoryLimit } from './http/body.ts'

/** Kept while the records of a request are written. */
export type Summary = {
  answer: Answer
  listed: Listed | undefined
  /** Undefined when the source is not known. */
  sourceId: string | undefined
  accepted: readonly CallType[]
  rejected: readonly RejectedCalls[]
  suppressed: readonly StatedType[]
}

export type RejectedCalls = { type: StatedType; code: Code; count: number }

/** Only increments numbers; labels are made when Prometheus scrapes. */
export type Meter = CallCounts &
  HttpMeter & {
    began(): void
    ended(type: RouteType, seconds: number): void
  }

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMeter(register: Registry): Meter {
  const [calls, batches] = requestTimes(register)
  let inFlight = 0
  gauge(register, ['sluice_ingest_requests_in_flight', 'Requests that are not answered yet.'], () => inFlight)
  return {
    ...createCallCounts(register),
    ...createHttpMeter(register),
    began() {
      inFlight += 1
    },
    ended(type, seconds) {
      inFlight -= 1
      if (type === 'batch') batches.observe(seconds)
      else calls.observe(seconds)
    },
  }
}

function requestTimes(register: Registry) {
  const request = new Histogram({
    name: 'sluice_ingest_request_seconds',
    help: 'Time from a request read in full to its answer.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [register],
  })
  return [request.labels('call'), request.labels('batch')] as const
}

export type HttpMeter = {
  answered(code: Code | 'ok'): void
  refusedConnection(): void
  watchConnections(server: Pick<Server, 'getConnections'>): void
  watchMemory(memory: Pick<MemoryLimit, 'bytes'>): void
}

function createHttpMeter(register: Registry): HttpMeter {
  const refused = new Counter({
    name: 'sluice_ingest_connections_refused_total',
    help: 'Connections closed because too many were open, or too many requests or unread answers waited.',
    registers: [register],
  })
  return {
    answered: countAnswers(register),
    refusedConnection: () => refused.inc(),
    watchConnections(server) {
      const connections = promisify(server.getConnections.bind(server))
      gauge(register, ['sluice_ingest_connections', 'Open connections.'], connections)
    },
    watchMemory({ bytes }) {
      const help = 'Bytes of memory of requests that are being read or wait for Kafka.'
      gauge(register, ['sluice_ingest_held_bytes', help], bytes)
    },
  }
}

function countAnswers(register: Registry): HttpMeter['answered'] {
  const answers = new Map<string, number>()
  new Counter({
    name: 'sluice_ingest_requests_total',
    help: 'Requests by the code of their answer, including ok. Without probes and preflights.',
    labelNames: ['code'],
    registers: [register],
    collect() {
      this.reset()
      for (const [code, count] of answers) this.inc({ code }, count)
    },
  })
  return (code) => answers.set(code, (answers.get(code) ?? 0) + 1)
}

function gauge(
  register: Registry,
  [name, help]: [string, string],
  value: () => number | Promise<number>,
): void {
  new Gauge({
    name,
    help,
    registers: [register],
    async collect() {
      this.set(await value())
    },
  })
}

export type CallCounts = {
  /** Counts each call of a request answered with `ok`, otherwise the request as a whole. */
  count(type: RouteType, summary: Summary, code: Answer['code']): void
  refused(type: RouteType | 'unknown', code: Code, sourceId: string | undefined): void
  unlogged(calls: number): void
}

type ByType = Record<CallType, number>
/** `source` is empty when it is not known. */
type Labels = { source: string; type: string; code?: Code }
type Sums = Map<string, { labels: Labels; count: number }>

function createCallCounts(register: Registry): CallCounts {
  const accepted = new Map<string, ByType>()
  const rejected: Sums = new Map()
  const suppressed: Sums = new Map()
  countAccepted(register, accepted)
  countSums(register, rejected, {
    name: 'sluice_ingest_calls_rejected_total',
    help: 'Rejected calls, and requests refused as a whole, by code.',
    labelNames: ['source', 'type', 'code'],
  })
  countSums(register, suppressed, {
    name: 'sluice_ingest_calls_suppressed_total',
    help: 'Calls answered with success and dropped, because their user is on the suppression list.',
    labelNames: ['source', 'type'],
  })
  const unlogged = new Counter({
    name: 'sluice_ingest_rejected_unlogged_total',
    help: 'Rejected calls that are not in topic events.rejected because Kafka accepted no writes.',
    registers: [register],
  })
  const reject = (labels: Required<Labels>, count?: number) => add(rejected, labels, count)

  function accept(source: string, types: readonly CallType[]): void {
    const byType = accepted.get(source) ?? { identify: 0, track: 0, page: 0, screen: 0, group: 0, alias: 0 }
    accepted.set(source, byType)
    for (const type of types) byType[type] += 1
  }

  return {
    count(type, { sourceId: source = '', ...summary }, code) {
      if (code !== 'ok') reject({ source, type, code })
      else {
        accept(source, summary.accepted)
        for (const { type: callType, code: callCode, count } of summary.rejected)
          reject({ source, type: callType, code: callCode }, count)
        for (const callType of summary.suppressed) add(suppressed, { source, type: callType })
      }
    },
    refused: (type, code, source = '') => reject({ source, type, code }),
    unlogged: (calls) => unlogged.inc(calls),
  }
}

function add(sums: Sums, labels: Labels, count = 1): void {
  const key = `${labels.source} ${labels.type} ${labels.code}`
  const known = sums.get(key)
  if (known) known.count += count
  else sums.set(key, { labels, count })
}

function countAccepted(register: Registry, accepted: ReadonlyMap<string, ByType>): void {
  new Counter({
    name: 'sluice_ingest_calls_accepted_total',
    help: 'Calls answered with success and written to topic events.',
    labelNames: ['source', 'type'],
    registers: [register],
    collect() {
      this.reset()
      for (const [source, byType] of accepted)
        for (const type of CALL_TYPES) if (byType[type] > 0) this.inc({ source, type }, byType[type])
    },
  })
}

type CounterConfig = { name: string; help: string; labelNames: (keyof Labels)[] }

function countSums(register: Registry, sums: Sums, config: CounterConfig): void {
  new Counter({
    ...config,
    registers: [register],
    collect() {
      this.reset()
      for (const { labels, count } of sums.values()) this.inc(labels, count)
    },
  })
}
