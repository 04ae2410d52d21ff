import { markdownTable, median, spread, spreadOfCounts } from '../figures/stats.ts'
import type { Figures, Load } from './measure.ts'

export type Scenario = Load & { goal: string; peer: string }
export type Round = { bare: Figures; sluice: Figures }
export type Compared = { scenario: Scenario; rounds: readonly Round[] }

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
  const rows = compared.flatMap(({ scenario: { name, goal, peer }, rounds }) => {
    const ratios = rounds.map(({ bare, sluice }) => sluice.perCpuSecond / bare.perCpuSecond)
    const of = (which: keyof Round) => cells(rounds.map((round) => round[which]))
    return [
      [`${name}, bare`, ...of('bare'), '', '', ''],
      [`${name}, **ingest**`, ...of('sluice'), `**${spread(ratios)}**`, goal, peer],
    ]
  })
  return markdownTable(HEAD, rows)
}

export function halfLoad(halves: readonly Compared[]): string {
  const rows = halves.flatMap(({ scenario: { name }, rounds }) => {
    const of = (which: keyof Round) => rounds.map((round) => round[which])
    return [
      [`${name}, bare`, ...latencies(of('bare')), ''],
      [`${name}, **ingest**`, ...latencies(of('sluice')), '<= 25'],
    ]
  })
  return markdownTable(['', 'events/s', 'p50 ms', 'p99 ms', 'goal'], rows)
}

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

/** Errors are told beside the rate: with any, the figures are not what they seem. */
function rate(rounds: readonly Figures[]): string {
  const errors = pick(rounds, 'errors').reduce((sum, count) => sum + count, 0)
  return `${spreadOfCounts(pick(rounds, 'perSecond'))}${errors > 0 ? ` **${errors} errors**` : ''}`
}

const pick = (rounds: readonly Figures[], figure: keyof Figures) => rounds.map((round) => round[figure])
