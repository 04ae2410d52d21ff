import { markdownTable } from '../../harness/results.ts'
import { median, spread, spreadOfCounts } from '../figures/stats.ts'

/** What one library took for its calls. Seconds, bytes. */
export type Measured = {
  language: 'go' | 'node'
  which: 'ours' | 'peer'
  requests: number
  calls: number
  failed: number
  deliveredSeconds: number
  cpuSeconds: number
  allocatedBytes: number
  /** Go alone counts them. */
  allocations?: number
}

const NAMES = {
  go: { ours: '**clients/go**', peer: 'analytics-go' },
  node: { ours: '**clients/node**', peer: '@segment/analytics-node' },
}

const HEAD = [
  '',
  'calls/s, delivered',
  'us of CPU per call',
  'ratio',
  'allocations per call',
  'ratio',
  'bytes allocated per call',
  'ratio',
  'calls per request',
  'failed',
]

export function table(measured: readonly Measured[]): string {
  const rows = (['go', 'node'] as const).flatMap((language) =>
    (['ours', 'peer'] as const).map((which) => {
      const of = (one: Measured['which']) =>
        measured.filter((each) => each.language === language && each.which === one)
      return row(of(which), which === 'ours' ? of('peer') : undefined)
    }),
  )
  return markdownTable(HEAD, rows)
}

function row(own: readonly Measured[], peer: readonly Measured[] | undefined): string[] {
  const [first] = own
  if (!first) return []
  const ratio = (figure: (one: Measured) => number) =>
    peer ? `**${spread(own.map((one, round) => figure(one) / figure(peer[round] ?? one)))}**` : ''
  const perCall = (figure: (one: Measured) => number) => own.map((one) => figure(one) / one.calls)
  const counted = first.allocations !== undefined
  return [
    NAMES[first.language][first.which],
    spreadOfCounts(own.map(({ calls, deliveredSeconds }) => calls / deliveredSeconds)),
    spread(
      perCall(({ cpuSeconds }) => cpuSeconds * 1_000_000),
      1,
    ),
    ratio(({ cpuSeconds }) => cpuSeconds),
    counted
      ? spread(
          perCall(({ allocations = 0 }) => allocations),
          1,
        )
      : '',
    counted ? ratio(({ allocations = 0 }) => allocations) : '',
    spreadOfCounts(perCall(({ allocatedBytes }) => allocatedBytes)),
    ratio(({ allocatedBytes }) => allocatedBytes),
    Math.round(median(own.map(({ calls, requests }) => calls / requests))).toLocaleString('en-US'),
    String(median(own.map(({ failed }) => failed))),
  ]
}
