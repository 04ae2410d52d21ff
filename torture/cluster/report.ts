import type { Call } from '../../harness/open-load.ts'
import { markdownTable } from '../../harness/results.ts'
import { type Account, type Answered, pair } from '../account.ts'

export type Run = {
  perSecond: number
  rows: readonly (Phase & { pauses: Pauses })[]
  result: Account
  refused: ReadonlyMap<string, number>
}

/** For the 99th percentile of deliveries. */
const GOAL_MS = 5_000

const seconds = (ms: number) => (Number.isFinite(ms) ? (ms / 1_000).toFixed(2) : 'lost')
const count = (figure: number) => figure.toLocaleString('en-US')

export function report({ perSecond, rows, result, refused }: Run): string {
  const head = [
    'fault',
    'calls',
    'until accepted: p99',
    'max',
    'then until delivered: p50',
    '**p99**',
    'p99.9',
    'max',
    'longest without any POST',
    'POSTs again',
  ]
  const table = rows.map(({ name, pauses: { calls, accept, deliver, gap, again } }) => [
    name,
    count(calls),
    ...[accept.p99, accept.max, deliver.p50].map(seconds),
    `**${seconds(deliver.p99)}**`,
    ...[deliver.p999, deliver.max, gap].map(seconds),
    count(again),
  ])
  const { missing } = result
  const lost = missing.accepted.length
  const undelivered = missing.unrouted.length + missing.unsettled.length
  const late = rows
    .filter(({ pauses }) => pauses.deliver.p99 > GOAL_MS)
    .map(({ name, pauses }) => `${name} (${seconds(pauses.deliver.p99)})`)
  const requests = [...refused].map(([why, times]) => `${why}: ${times}`).join(', ')
  return `\`npm run cluster\`: three brokers (replication 3, two in sync required), two of each process, ${perSecond} calls a second at a fixed
rate to both ingests in turn, each for two destinations, all on this machine. Figures are in seconds. Those of a fault
cover the calls made from 2 s before it, which were still in flight, until 3 s after recovery. Goal: 99 of 100 deliveries
within 5 s of acceptance; \`lost\` means that Kafka lost the record. ${late.length === 0 ? 'It is met by each.' : `**Missed** by: ${late.join('; ')}.`} The machine had other work too: its load is in the command's log.

${markdownTable(head, table)}

${count(result.accepted)} calls were accepted, **${lost} of them lost**. ${count(result.delivered)} deliveries arrived, and ${undelivered} are missing without a report.

Kafka lost ${count(result.cut.deliveries)} records of \`deliveries\`. \`log-faults\` reports ${count(result.reported.deliveries)} of them. ${count(result.rewritten)} others were not acknowledged and were written again. ${count(result.unwitnessed.deliveries)} had offsets that the new leader gave to other records. ${missing.unreported.length} are gone without a report.

${count(result.again)} POSTs were repeated with the same \`X-Delivery-Id\`, ${missing.strangeIds.length} with another. Requests that did not get 200 and were sent again: ${requests || 'none'}.`
}

/** `at`: ms of `performance.now()`. */
export type Arrival = Answered & { at: number }

/** A part of the run, in ms of `performance.now()`. */
export type Phase = { name: string; from: number; to: number }

/** Of the calls made in a phase, in ms. */
export type Pauses = {
  calls: number
  /** From call to acceptance. */
  accept: Spread
  /** From acceptance to the first arrival at each destination. */
  deliver: Spread
  /** Longest time without any POST. */
  gap: number
  /** POSTs beyond the first of a delivery. */
  again: number
}

export type Spread = { p50: number; p99: number; p999: number; max: number }

/** Each call goes to all `destinations`. */
export type Seen = {
  calls: readonly Call[]
  arrivals: readonly Arrival[]
  destinations: readonly string[]
}

/** A missing POST counts as infinitely late. */
export function pausesIn({ from, to }: Phase, of: Seen): Pauses {
  const first = new Map<string, number>()
  const times = new Map<string, number>()
  for (const arrival of of.arrivals) {
    const key = pair(arrival)
    if (!first.has(key)) first.set(key, arrival.at)
    times.set(key, (times.get(key) ?? 0) + 1)
  }
  const calls = of.calls.filter(({ madeAt }) => madeAt >= from && madeAt < to)
  const deliveries = calls.flatMap(({ messageId, acceptedAt }) =>
    of.destinations.map((destinationId) => ({ key: pair({ destinationId, messageId }), acceptedAt })),
  )
  const deliver = deliveries.map(({ key, acceptedAt }) => {
    const at = first.get(key)
    // the POST may arrive before the client has read its answer
    return at === undefined || acceptedAt === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(0, at - acceptedAt)
  })
  return {
    calls: calls.length,
    accept: spreadOf(calls.map(({ madeAt, acceptedAt = Number.POSITIVE_INFINITY }) => acceptedAt - madeAt)),
    deliver: spreadOf(deliver),
    gap: longestGap(of.arrivals, { from, to }),
    again: deliveries.reduce((sum, { key }) => sum + Math.max(0, (times.get(key) ?? 0) - 1), 0),
  }
}

function longestGap(arrivals: readonly Arrival[], { from, to }: Omit<Phase, 'name'>): number {
  const inside = arrivals.map(({ at }) => at).filter((at) => at >= from && at < to)
  let last = from
  let longest = 0
  for (const at of [...inside, to]) {
    longest = Math.max(longest, at - last)
    last = at
  }
  return longest
}

/** By nearest rank. Zeros for an empty list. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: sorted.at(-1) ?? 0 }
}
