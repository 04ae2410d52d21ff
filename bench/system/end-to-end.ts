import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { type Goal, median, spread, verdict } from '../figures/summary.ts'
import { ENDPOINTS, warmUp } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/start.ts'
import type { WindowReport } from '../receivers/tally.ts'
import { type Idle, type Run, runIdle, runStraight, runThrough } from './rate.ts'
import { afterTry, type Found, nextRate } from './search.ts'

/** `atMost`: microseconds of CPU per call, and milliseconds from call to arrival. */
const RATES = [
  { perSecond: 300, atMost: { sluice: 800, kafka: 500, p50Ms: 25, p99Ms: 60 } },
  { perSecond: 1_000, atMost: { sluice: 450, kafka: 220, p50Ms: 25, p99Ms: 50 } },
] as const
/** Shares of a core. */
const IDLE_AT_MOST = { sluice: 0.03, kafka: 0.05 }
const WARM_MS = 15_000
const STRAIGHT_WARM_MS = 5_000
const MEASURE_MS = 30_000
/** Each rate is measured for this share of the search time. */
const TRY_SHARE = 1 / 20

/**
 * @returns the section of RESULTS.md: latency and CPU per call at everyday rates, CPU without calls, and the highest
 * rate on two cores.
 */
export async function bench({ rounds = 4, minutes = 10 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await warmUp(stack)
  const all: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const through: Run[] = []
    for (const { perSecond } of RATES)
      through.push(await runThrough(stack, { perSecond, forMs: MEASURE_MS, warmMs: WARM_MS }))
    all.push({ straight: await straight(), through, idle: await runIdle(stack, IDLE) })
  }
  return report(all, await search(stack, minutes * 60_000))
}

const IDLE = { warmMs: WARM_MS, forMs: MEASURE_MS }

async function straight(): Promise<WindowReport> {
  const endpoints = await startEndpoints(1)
  const rate = { perSecond: RATES[1].perSecond, forMs: MEASURE_MS, warmMs: STRAIGHT_WARM_MS }
  const report = await runStraight(rate, endpoints)
  await endpoints.stop()
  return report
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

/** `through`: one run for each of `RATES`. */
type Round = { straight: WindowReport; through: readonly Run[]; idle: Idle }
type Searched = { tries: readonly Run[]; found: Found; forMs: number }

function report(rounds: readonly Round[], { tries, found, forMs }: Searched): string {
  return [
    explained(rounds.length),
    ratesTable(rounds),
    idleText(rounds.map(({ idle }) => idle)),
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
    verdict(goals(rounds)),
  ].join('\n\n')
}

function goals(rounds: readonly Round[]): Goal[] {
  const ofRates = RATES.flatMap(({ perSecond, atMost }, index) => {
    const runs = runsAt(rounds, index)
    const of = (pick: (run: Run) => number) => median(runs.map(pick))
    const at = `at ${perSecond.toLocaleString('en-US')}/s`
    return [
      { what: `p50 in ms ${at}`, is: of(({ p50Ms }) => p50Ms), atMost: atMost.p50Ms },
      { what: `p99 in ms ${at}`, is: of(({ p99Ms }) => p99Ms), atMost: atMost.p99Ms },
      {
        what: `us of the four processes per call ${at}`,
        is: of(({ us }) => us.sluice),
        atMost: atMost.sluice,
      },
      { what: `Kafka's us per call ${at}`, is: of(({ us }) => us.kafka), atMost: atMost.kafka },
    ]
  })
  const idle = (what: keyof Idle['cores']) => median(rounds.map(({ idle }) => idle.cores[what]))
  return [
    ...ofRates,
    { what: 'the share of a core of the idle processes', is: idle('sluice'), atMost: IDLE_AT_MOST.sluice },
    { what: 'the share of a core of an idle Kafka', is: idle('kafka'), atMost: IDLE_AT_MOST.kafka },
  ]
}

const runsAt = (rounds: readonly Round[], index: number) =>
  rounds.flatMap(({ through }) => through[index] ?? [])

function idleText(all: readonly Idle[]): string {
  const percent = (what: keyof Idle['cores']) =>
    `**${spread(
      all.map(({ cores }) => cores[what] * 100),
      1,
    )} %** of a core (goal: at most ${IDLE_AT_MOST[what] * 100} %)`
  return `Without calls, the four processes take ${percent('sluice')}, and Kafka ${percent('kafka')}, ${WARM_MS / 1_000} s after their start.`
}

const bound = ({ failed }: Found) =>
  failed === undefined
    ? 'and no higher rate was measured'
    : `and ${failed.toLocaleString('en-US')} were not; rates in between were not measured`

function ratesTable(rounds: readonly Round[]): string {
  const cells = (reports: readonly WindowReport[]) => [
    `${spread(
      reports.map(({ inTime, due }) => (inTime / due) * 100),
      1,
    )} %`,
    spread(
      reports.map(({ p50Ms }) => p50Ms),
      1,
    ),
    spread(
      reports.map(({ p99Ms }) => p99Ms),
      1,
    ),
  ]
  const rows = RATES.map(({ perSecond, atMost }, index) => {
    const runs = runsAt(rounds, index)
    const us = (what: keyof Run['us']) =>
      `**${spread(
        runs.map(({ us }) => us[what]),
        0,
      )}**`
    const idle = (median(runs.map(({ idleShare }) => idleShare)) * 100).toFixed(0)
    const goal = `p50 <= ${atMost.p50Ms}, p99 <= ${atMost.p99Ms}, ${atMost.sluice} us, Kafka ${atMost.kafka} us`
    const name = `**through Sluice**, ${perSecond.toLocaleString('en-US')}/s`
    return [name, ...cells(runs), us('sluice'), us('kafka'), goal, `${idle} %`]
  })
  return markdownTable(
    [
      ...['', 'in time', 'p50 ms', 'p99 ms'],
      ...['us of CPU per call, four processes', "Kafka's us per call", 'goal', 'machine idle'],
    ],
    [
      ['straight to the receiver, 1,000/s', ...cells(rounds.map(({ straight }) => straight)), '', '', '', ''],
      ...rows,
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

const explained = (rounds: number) =>
  `Single track calls of 1 KB at a fixed rate (open loop): from when a call was due at its client to its arrival at the
receiver, through ingest, three topics, router and deliverer. "Straight" is the same client posting to the same receiver.
Sluice's four processes, as \`npm start\` runs them, Kafka, registry, load and receiver share two cores; ${ENDPOINTS} webhooks, one
destination per call. Median of ${rounds} alternating rounds on fresh processes and topics, with the lowest and the highest.`

const searchExplained = (forMs: number) =>
  `The highest rate at which 99 of 100 arrive within ${HELD_MS} ms and none is refused, on the same two cores: the rate doubles until
one fails, then the search halves the interval, down to 250 a second. Each rate runs for ${forMs / 1_000} s, on fresh processes that
were warm for 15 s.`
