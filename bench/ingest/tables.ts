import { markdownTable } from '../../harness/results.ts'
import { type Goal, median, spread, spreadOfCounts } from '../figures/summary.ts'
import type { Figures, Load } from './measure.ts'

/** `atLeast`: the goal for the ratio. */
export type Scenario = Load & { atLeast?: number; peer: string }
export type Round = { bare: Figures; sluice: Figures }
export type Compared = { scenario: Scenario; rounds: readonly Round[] }

const HALF_LOAD_P99_MS = 25
const ALONE_P50_MS = 5

const HEAD = [
  ...[
    '',
    'events/s',
    'events per CPU-second',
    'us of CPU per event',
    "Kafka's us per event",
    'p50 ms',
    'p99 ms',
  ],
  ...['ratio per core', 'goal', 'peer'],
]

export function comparison(compared: readonly Compared[]): string {
  const rows = compared.flatMap(({ scenario: { name, atLeast, peer }, rounds }) => {
    const goal = atLeast === undefined ? '' : `>= ${atLeast.toFixed(2)}`
    const of = (which: keyof Round) => cells(rounds.map((round) => round[which]))
    return [
      [`${name}, bare`, ...of('bare'), '', '', ''],
      [`${name}, **ingest**`, ...of('sluice'), `**${spread(ratiosOf(rounds))}**`, goal, peer],
    ]
  })
  return markdownTable(HEAD, rows)
}

export function halfLoad(halves: readonly Compared[]): string {
  const rows = halves.flatMap(({ scenario: { name }, rounds }) => {
    const of = (which: keyof Round) => rounds.map((round) => round[which])
    return [
      [`${name}, bare`, ...latencies(of('bare')), ''],
      [`${name}, **ingest**`, ...latencies(of('sluice')), `<= ${HALF_LOAD_P99_MS}`],
    ]
  })
  return markdownTable(['', 'events/s', 'p50 ms', 'p99 ms', 'goal'], rows)
}

export const loneClient = ({ p50Ms, p99Ms }: Figures) =>
  `One client alone gets its answer after ${p50Ms.toFixed(1)} ms (p50, goal <= ${ALONE_P50_MS}) and ${p99Ms.toFixed(1)} ms (p99).`

/** @param alone figures of a single client */
export function goals(compared: readonly Compared[], halves: readonly Compared[], alone: Figures): Goal[] {
  const ratios = compared.flatMap(({ scenario: { name, atLeast }, rounds }) =>
    atLeast === undefined ? [] : { what: `the ratio of ${name}`, is: median(ratiosOf(rounds)), atLeast },
  )
  const p99s = halves.map(({ scenario: { name }, rounds }) => ({
    what: `p99 of ${name} at half load, in ms`,
    is: median(rounds.map(({ sluice }) => sluice.p99Ms)),
    atMost: HALF_LOAD_P99_MS,
  }))
  return [...ratios, ...p99s, { what: 'p50 of one client in ms', is: alone.p50Ms, atMost: ALONE_P50_MS }]
}

const ratiosOf = (rounds: readonly Round[]) =>
  rounds.map(({ bare, sluice }) => sluice.perCpuSecond / bare.perCpuSecond)

const latencies = (rounds: readonly Figures[]): string[] => [
  rate(rounds),
  spread(pick(rounds, 'p50Ms'), 1),
  `**${spread(pick(rounds, 'p99Ms'), 1)}**`,
]

function cells(rounds: readonly Figures[]): string[] {
  const perCpuSecond = pick(rounds, 'perCpuSecond')
  const storeUs = median(pick(rounds, 'storeUs'))
  return [
    rate(rounds),
    spreadOfCounts(perCpuSecond),
    (1e6 / median(perCpuSecond)).toFixed(1),
    storeUs === 0 ? '' : storeUs.toFixed(1),
    median(pick(rounds, 'p50Ms')).toFixed(1),
    median(pick(rounds, 'p99Ms')).toFixed(1),
  ]
}

/** With errors, which make the figures unreliable. */
function rate(rounds: readonly Figures[]): string {
  const errors = pick(rounds, 'errors').reduce((sum, count) => sum + count, 0)
  return `${spreadOfCounts(pick(rounds, 'perSecond'))}${errors > 0 ? ` **${errors} errors**` : ''}`
}

const pick = (rounds: readonly Figures[], figure: keyof Figures) => rounds.map((round) => round[figure])
