import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { ENDPOINTS, warmUp } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/start.ts'
import type { WindowReport } from '../receivers/tally.ts'
import { type Run, runStraight, runThrough } from './rate.ts'
import { afterTry, type Found, nextRate } from './search.ts'

const PER_SECOND = 1_000
const WARM_MS = 15_000
const STRAIGHT_WARM_MS = 5_000
const MEASURE_MS = 30_000
/** Each rate is measured for this share of the search time. */
const TRY_SHARE = 1 / 20

/**
 * @returns the section of RESULTS.md: latency from call to arrival at a steady rate, and the highest rate on two cores.
 */
export async function bench({ rounds = 4, minutes = 10 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await warmUp(stack)
  const all: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const endpoints = await startEndpoints(1)
    const rate = { perSecond: PER_SECOND, forMs: MEASURE_MS }
    const straight = await runStraight({ ...rate, warmMs: STRAIGHT_WARM_MS }, endpoints)
    await endpoints.stop()
    all.push({ straight, through: await runThrough(stack, { ...rate, warmMs: WARM_MS }) })
  }
  return report(all, await search(stack, minutes * 60_000))
}

/** Tries rates until the highest sustainable one is found, or the time is over. */
async function search(stack: Stack, limitMs: number): Promise<{ tries: Run[]; found: Found; forMs: number }> {
  const until = performance.now() + limitMs
  const forMs = limitMs * TRY_SHARE
  const tries: Run[] = []
  let found: Found = { held: 0, failed: undefined }
  for (let rate = nextRate(found); rate && performance.now() < until; rate = nextRate(found)) {
    const run = await runThrough(stack, { perSecond: rate, warmMs: WARM_MS, forMs })
    tries.push(run)
    found = afterTry(found, rate, run.p99Ms <= HELD_MS && run.errors === 0)
  }
  return { tries, found, forMs }
}

/** A rate is sustained when 99 of 100 calls arrive within this time and no request is refused. */
const HELD_MS = 250
const GOAL_MS = 50

type Round = { straight: WindowReport; through: Run }
type Searched = { tries: readonly Run[]; found: Found; forMs: number }

function report(rounds: readonly Round[], { tries, found, forMs }: Searched): string {
  const through = rounds.map((round) => round.through)
  const p99 = median(through.map(({ p99Ms }) => p99Ms))
  return [
    explained(through[0]?.perSecond ?? 0, rounds.length),
    steadyTable(rounds),
    searchExplained(forMs),
    markdownTable(
      [
        ...['calls/s', 'in time', 'p50 ms', 'p99 ms', 'requests refused'],
        ...['us of CPU per call, four processes', "Kafka's us per call", 'machine idle', 'holds'],
      ],
      tries.map(tried),
    ),
    `**${found.held.toLocaleString('en-US')} calls a second** were held, ${bound(found)}. A peer (Hookdeck Outpost with Redis,
PostgreSQL and RabbitMQ) reached 2,100 events a second at 830 us of CPU each, including its stores. It was measured
earlier on a machine like this one, with load and receiver on the same two cores.`,
    verdict([{ what: 'p99 through Sluice in ms', is: p99, atMost: GOAL_MS }]),
  ].join('\n\n')
}

const bound = ({ failed }: Found) =>
  failed === undefined
    ? 'and no higher rate was measured'
    : `and ${failed.toLocaleString('en-US')} were not; rates in between were not measured`

function steadyTable(rounds: readonly Round[]): string {
  const of = (pick: (round: Round) => WindowReport) => rounds.map(pick)
  const cells = (reports: readonly WindowReport[]) => [
    `${spread(
      reports.map(({ inTime, due }) => (inTime / due) * 100),
      1,
    )} %`,
    spread(
      reports.map(({ p50Ms }) => p50Ms),
      1,
    ),
    `**${spread(
      reports.map(({ p99Ms }) => p99Ms),
      1,
    )}**`,
  ]
  const through = rounds.map((round) => round.through)
  const ratio = spread(
    rounds.map(({ straight, through }) => through.p99Ms / straight.p99Ms),
    1,
  )
  const us = (what: keyof Run['us']) => median(through.map(({ us }) => us[what])).toFixed(0)
  const idle = (median(through.map(({ idleShare }) => idleShare)) * 100).toFixed(0)
  return markdownTable(
    [
      ...['', 'in time', 'p50 ms', 'p99 ms', 'ratio of p99', 'goal'],
      ...['us of CPU per call, four processes', "Kafka's us per call", 'machine idle'],
    ],
    [
      ['straight to the receiver', ...cells(of(({ straight }) => straight)), '', '', '', '', ''],
      [
        '**through Sluice**',
        ...cells(of(({ through }) => through)),
        ...[ratio, `p99 <= ${GOAL_MS}`, us('sluice'), us('kafka'), `${idle} %`],
      ],
    ],
  )
}

function tried(run: Run): string[] {
  const holds = run.p99Ms <= HELD_MS && run.errors === 0
  return [
    run.perSecond.toLocaleString('en-US'),
    `${((run.inTime / run.due) * 100).toFixed(1)} %`,
    run.p50Ms.toFixed(1),
    run.p99Ms.toFixed(1),
    String(run.errors),
    run.us.sluice.toFixed(0),
    run.us.kafka.toFixed(0),
    `${(run.idleShare * 100).toFixed(0)} %`,
    holds ? 'yes' : 'no',
  ]
}

const explained = (perSecond: number, rounds: number) =>
  `${perSecond.toLocaleString('en-US')} single track calls of 1 KB a second, at a fixed rate (open loop): from when a call was due at its client to its
arrival at the receiver, through ingest, three topics, router and deliverer. "Straight" is the same client posting to the
same receiver. Sluice's four processes, as \`npm start\` runs them, Kafka, registry, load and receiver share two cores; ${ENDPOINTS}
webhooks, one destination per call. Median of ${rounds} alternating rounds on fresh processes and topics, with the lowest and the
highest.`

const searchExplained = (forMs: number) =>
  `The highest rate at which 99 of 100 arrive within ${HELD_MS} ms and none is refused, on the same two cores: the rate doubles until
one fails, then the search halves the interval, down to 250 a second. Each rate runs for ${forMs / 1_000} s, on fresh processes that
were warm for 15 s.`
