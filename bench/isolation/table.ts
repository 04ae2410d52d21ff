import { markdownTable } from '../../harness/results.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import type { ScenarioResult } from '../load/scenario.ts'
import type { WindowReport } from '../receivers/tally.ts'

/** By case; undefined if not run. The first is the baseline. */
export type Round = (ScenarioResult | undefined)[]

type Part = 0 | 1

export function isolationTable(names: readonly string[], rounds: readonly Round[]): string {
  const rows = names.map((name, index) => [name, ...cells(index, rounds)])
  const at = names.indexOf(GOAL_CASE)
  return [
    markdownTable(HEAD, [...rows, GOALS]),
    markdownTable(COSTS_HEAD, [
      ...names.map((name, index) => [name, ...costs(index, rounds)]),
      ['goal at 20 % never answering', '< 5 %', '', '', ''],
    ]),
    verdict([
      { what: 'at 20 % the share in time (first)', is: median(ratios(rounds, at, 0, share)), atLeast: 0.65 },
      { what: 'at 20 % the share in time (then)', is: median(ratios(rounds, at, 1, share)), atLeast: 0.95 },
      { what: 'at 20 % the ratio of p99', is: median(ratios(rounds, at, 1, p99)), atMost: 1.2 },
    ]),
  ].join('\n\n')
}

/** The case that has goals. */
const GOAL_CASE = '20 % never answering'

const HEAD = [
  ...['webhooks in trouble', 'in time, first', 'ratio', 'in time, then', 'ratio'],
  ...['p50 ms, then', 'p99 ms, first', 'p99 ms, then', 'ratio'],
]
const GOALS = ['goal at 20 %', '', '>= 0.65', '', '>= 0.95', '', '', '', '<= 1.20']
const COSTS_HEAD = [
  'webhooks in trouble',
  'first attempts that went to them',
  'records to rungs',
  "deliverer's us of CPU per call",
  'machine idle',
]

function cells(index: number, rounds: readonly Round[]): string[] {
  const run = rounds.filter((round) => round[index])
  const of = (part: Part, figure: Figure) => run.map((round) => figure(round[index]?.windows[part] ?? NONE))
  const ratio = (part: Part, figure: Figure) => `**${spread(ratios(rounds, index, part, figure))}**`
  return [
    ...[percent(of(0, share)), ratio(0, share), percent(of(1, share)), ratio(1, share)],
    ...[spread(of(1, p50), 1), spread(of(0, p99), 1), spread(of(1, p99), 1), ratio(1, p99)],
  ]
}

type Figure = (report: WindowReport) => number

/** Ratios to the first case of the same round. */
const ratios = (rounds: readonly Round[], index: number, part: Part, figure: Figure) =>
  rounds
    .filter((round) => round[index])
    .map((round) => figure(round[index]?.windows[part] ?? NONE) / figure(round[0]?.windows[part] ?? NONE))

const share = ({ inTime, due }: WindowReport) => inTime / due
const p50 = ({ p50Ms }: WindowReport) => p50Ms
const p99 = ({ p99Ms }: WindowReport) => p99Ms
const NONE: WindowReport = {
  ...{ due: 0, arrived: 0, again: 0, inTime: 0, soon: 0 },
  ...{ p50Ms: Number.NaN, p99Ms: Number.NaN },
}

const percent = (shares: readonly number[]) =>
  `${spread(
    shares.map((part) => part * 100),
    1,
  )} %`

function costs(index: number, rounds: readonly Round[]): string[] {
  const outcomes = rounds.flatMap((round) => round[index] ?? [])
  return [
    percent(outcomes.map(burnt)),
    String(median(outcomes.map(({ toRungs }) => toRungs))),
    spread(
      outcomes.map(({ delivererUs }) => delivererUs),
      0,
    ),
    percent(outcomes.map(({ idleShare }) => idleShare)),
  ]
}

/**
 * POSTs to bad webhooks. Receivers do not see refused ones, so the deliverer's count is added, with retries and probes.
 */
function burnt({ firsts, refused }: ScenarioResult): number {
  const bad = firsts.bad + refused
  return bad / (firsts.healthy + bad)
}
