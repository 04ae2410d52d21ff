import { markdownTable } from '../../harness/results.ts'
import type { Account } from '../account.ts'
import type { Pauses, Phase } from './pauses.ts'

export type Run = {
  perSecond: number
  rows: readonly (Phase & { pauses: Pauses })[]
  result: Account
  refused: ReadonlyMap<string, number>
}

/** For the 99th percentile of deliveries. */
const GOAL_MS = 5_000

const seconds = (ms: number) => (ms / 1_000).toFixed(2)
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
within 5 s of acceptance. ${late.length === 0 ? 'It is met by each.' : `**Missed** by: ${late.join('; ')}.`} The machine had other work too: its load is in the command's log.

${markdownTable(head, table)}

${count(result.accepted)} calls were accepted, **${lost} of them lost**; ${count(result.delivered)} deliveries, ${undelivered} missing beyond what is reported (Kafka lost ${count(result.cut.deliveries)} records of \`deliveries\`; \`log-faults\` reports ${count(result.reported.deliveries)} of them), ${count(result.again)} POSTs again with the same \`X-Delivery-Id\`, ${missing.strangeIds.length} with another. Requests that did not get 200 and were sent again: ${requests || 'none'}.`
}
