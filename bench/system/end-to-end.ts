import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { type Goal, median, spread, spreadOfCounts, verdict } from '../figures/summary.ts'
import { ENDPOINTS, warmUp } from '../load/scenario.ts'
import {
  type Closed,
  type Cost,
  type Idle,
  type Line,
  type Rate,
  type Run,
  runAtRate,
  runClosed,
  runIdle,
  startBareForwarder,
  startSluice,
} from './rate.ts'
import { afterTry, type Found, nextRate } from './search.ts'

/** `atMost`: microseconds of CPU per call, and milliseconds from call to arrival. */
const RATES = [
  { perSecond: 300, atMost: { own: 800, stores: 500, p50Ms: 25, p99Ms: 60 } },
  { perSecond: 1_000, atMost: { own: 450, stores: 220, p50Ms: 25, p99Ms: 50 } },
] as const
/** Shares of a core. */
const IDLE_AT_MOST: Cost = { own: 0.03, stores: 0.05 }
const WARM_MS = 15_000
const MEASURE_MS = 30_000
/** Until then, processes still compile code and collect garbage from their start. */
const SETTLED_MS = 120_000
/** The share of the search time for each rate. */
const TRY_SHARE = 1 / 20
const CLOSED = { connections: 50, warmMs: 15_000, forMs: MEASURE_MS }
const CLOSED_AT_LEAST = 8_000
/** `batch`: calls in a request. `atLeast`: calls a second that should hold. */
const SEARCHES = [
  { batch: 1, atLeast: 6_500 },
  { batch: 20, atLeast: 10_000 },
] as const

/** `minutes`: of each search. */
export async function bench({ rounds = 4, minutes = 10 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await warmUp(stack)
  const all: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const bare: Run[] = []
    const through: Run[] = []
    for (const { perSecond } of RATES) {
      bare.push(await onBareForwarder({ perSecond, ...TIMES }))
      through.push(await onSluice(stack, (line) => runAtRate(line, { perSecond, ...TIMES })))
    }
    all.push({
      ...{ bare, through },
      ...(await onSluice(stack, measureIdle)),
      closed: await onSluice(stack, (line) => runClosed(line, CLOSED)),
    })
  }
  const searches: Searched[] = []
  for (const { batch } of SEARCHES) searches.push(await search(stack, { batch, limitMs: minutes * 60_000 }))
  return report(all, searches)
}

const TIMES = { warmMs: WARM_MS, forMs: MEASURE_MS }

/** On fresh processes and topics. */
async function onSluice<T>(stack: Stack, measure: (line: Line) => Promise<T>): Promise<T> {
  await using line = await startSluice(stack)
  return await measure(line)
}

/** Soon after the start, and once the processes have settled. */
async function measureIdle(line: Line): Promise<Pick<Round, 'started' | 'idle'>> {
  const started = await runIdle(line, TIMES)
  const idle = await runIdle(line, { warmMs: SETTLED_MS - WARM_MS - MEASURE_MS, forMs: 2 * MEASURE_MS })
  return { started, idle }
}

async function onBareForwarder(rate: Rate): Promise<Run> {
  await using line = await startBareForwarder()
  return await runAtRate(line, rate)
}

/** Finds the highest sustainable rate, unless the time is over. */
async function search(
  stack: Stack,
  { batch, limitMs }: { batch: number; limitMs: number },
): Promise<Searched> {
  const until = performance.now() + limitMs
  const forMs = limitMs * TRY_SHARE
  const tries: Run[] = []
  let found: Found = { held: 0, failed: undefined }
  for (let rate = nextRate(found); rate && performance.now() < until; rate = nextRate(found)) {
    const run = await onSluice(stack, (line) =>
      runAtRate(line, { perSecond: rate, batch, warmMs: WARM_MS, forMs }),
    )
    tries.push(run)
    found = afterTry(found, rate, run.p99Ms <= HELD_MS && run.errors === 0)
  }
  return { tries, found, forMs }
}

/** A rate is sustained when 99 of 100 calls arrive within this time and no request is refused. */
const HELD_MS = 250

/** `bare`, `through`: one run for each of `RATES`. */
type Round = {
  bare: readonly Run[]
  through: readonly Run[]
  started: Idle
  idle: Idle
  closed: Closed
}
type Searched = { tries: readonly Run[]; found: Found; forMs: number }

function report(rounds: readonly Round[], searches: readonly Searched[]): string {
  const [{ forMs } = { forMs: 0 }] = searches
  return [
    explained(rounds.length),
    ratesTable(rounds),
    idleText(rounds),
    closedText(rounds.map(({ closed }) => closed)),
    searchExplained(forMs),
    markdownTable(
      [
        ...['calls in a request', 'calls/s', 'in time', 'p50 ms', 'p99 ms', 'requests refused'],
        ...['us of CPU per call, four processes', "Kafka's us per call", 'machine idle', 'holds'],
      ],
      searches.flatMap(({ tries }, index) => tries.map((run) => tried(run, SEARCHES[index]?.batch ?? 1))),
    ),
    searches.map(({ found }, index) => heldText(found, SEARCHES[index]?.batch ?? 1)).join(' '),
    verdict([...goals(rounds), ...topGoals(rounds, searches)]),
  ].join('\n\n')
}

function heldText(found: Found, batch: number): string {
  const kind = batch === 1 ? 'single calls' : `calls in batches of ${batch}`
  return `**${found.held.toLocaleString('en-US')} ${kind} a second** were held, ${bound(found)}.`
}

function topGoals(rounds: readonly Round[], searches: readonly Searched[]): Goal[] {
  const held = searches.map(({ found }, index) => ({
    what: `the highest rate of ${SEARCHES[index]?.batch === 1 ? 'singles' : 'batches'}`,
    is: found.held,
    atLeast: SEARCHES[index]?.atLeast ?? 0,
  }))
  const delivered = median(rounds.map(({ closed }) => closed.delivered))
  return [
    {
      what: `deliveries a second with ${CLOSED.connections} connections`,
      is: delivered,
      atLeast: CLOSED_AT_LEAST,
    },
    ...held,
  ]
}

function closedText(all: readonly Closed[]): string {
  const us = (what: keyof Cost) =>
    `${spread(
      all.map((closed) => closed.us[what]),
      0,
    )} us`
  return `${CLOSED.connections} connections each wait for an answer before they send the next call. Together, ${spreadOfCounts(all.map(({ accepted }) => accepted))} calls a second are
accepted, and **${spreadOfCounts(all.map(({ delivered }) => delivered))}** are delivered meanwhile (goal: at least ${CLOSED_AT_LEAST.toLocaleString('en-US')}). Each delivery takes
${us('own')} of the four processes and ${us('stores')} of Kafka.`
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
        is: of(({ us }) => us.own),
        atMost: atMost.own,
      },
      { what: `Kafka's us per call ${at}`, is: of(({ us }) => us.stores), atMost: atMost.stores },
    ]
  })
  const idle = (what: keyof Cost) => median(rounds.map(({ idle }) => idle.cores[what]))
  return [
    ...ofRates,
    { what: 'the share of a core of the idle processes', is: idle('own'), atMost: IDLE_AT_MOST.own },
    { what: 'the share of a core of an idle Kafka', is: idle('stores'), atMost: IDLE_AT_MOST.stores },
  ]
}

const runsAt = (rounds: readonly Round[], index: number, which: 'bare' | 'through' = 'through') =>
  rounds.flatMap((round) => round[which][index] ?? [])

function idleText(rounds: readonly Round[]): string {
  const percent = (when: 'started' | 'idle', what: keyof Cost) =>
    `${spread(
      rounds.map((round) => round[when].cores[what] * 100),
      1,
    )} %`
  const goal = (what: keyof Cost) => `(goal: at most ${IDLE_AT_MOST[what] * 100} %)`
  return `Without calls, the four processes take **${percent('idle', 'own')}** of a core ${goal('own')}, and Kafka **${percent('idle', 'stores')}** ${goal('stores')}, ${SETTLED_MS / 1_000} s after their start. After ${WARM_MS / 1_000} s, they take ${percent('started', 'own')}, and Kafka ${percent('started', 'stores')}.`
}

const bound = ({ failed }: Found) =>
  failed === undefined
    ? 'and no higher rate was measured'
    : `and ${failed.toLocaleString('en-US')} were not; rates in between were not measured`

function ratesTable(rounds: readonly Round[]): string {
  const cells = (reports: readonly Run[]) => [
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
  const costs = (runs: readonly Run[], what: keyof Cost) =>
    `**${spread(
      runs.map(({ us }) => us[what]),
      0,
    )}**`
  const idle = (runs: readonly Run[]) =>
    `${(median(runs.map(({ idleShare }) => idleShare)) * 100).toFixed(0)} %`
  const rows = RATES.flatMap(({ perSecond, atMost }, index) => {
    const [bare, through] = [runsAt(rounds, index, 'bare'), runsAt(rounds, index)]
    const goal = `p50 <= ${atMost.p50Ms}, p99 <= ${atMost.p99Ms}, ${atMost.own} us, Kafka ${atMost.stores} us`
    const rate = `${perSecond.toLocaleString('en-US')}/s`
    return [
      [`through the bare forwarder, ${rate}`, ...cells(bare), costs(bare, 'own'), '', '', idle(bare)],
      [
        `**through Sluice**, ${rate}`,
        ...cells(through),
        ...[costs(through, 'own'), costs(through, 'stores'), goal, idle(through)],
      ],
    ]
  })
  return markdownTable(
    [
      ...['', 'in time', 'p50 ms', 'p99 ms', 'us of CPU per call, own processes'],
      ...["Kafka's us per call", 'goal', 'machine idle'],
    ],
    rows,
  )
}

function tried(run: Run, batch: number): string[] {
  const holds = run.p99Ms <= HELD_MS && run.errors === 0
  return [
    String(batch),
    run.perSecond.toLocaleString('en-US'),
    `${((run.inTime / run.due) * 100).toFixed(1)} %`,
    run.p50Ms.toFixed(1),
    run.p99Ms.toFixed(1),
    String(run.errors),
    run.us.own.toFixed(0),
    run.us.stores.toFixed(0),
    `${(run.idleShare * 100).toFixed(0)} %`,
    holds ? 'yes' : 'no',
  ]
}

const explained = (rounds: number) =>
  `Single track calls of 1 KB at a fixed rate (open loop). Latency runs from when a call was due at its client to its arrival at
the receiver, through ingest, three topics, router and deliverer. The bare forwarder is one process that parses a call, answers
and posts it, signed, to its webhook with the deliverer's HTTP client; it stores nothing. It shows what the two HTTP hops
cost at this rate. Sluice's four processes, as \`npm start\` runs them, share two cores with Kafka, the registry, the load and
the receiver. There are ${ENDPOINTS} webhooks, and each call goes to one destination. Medians of ${rounds} alternating rounds on
fresh processes and topics, with the lowest and the highest.`

const searchExplained = (forMs: number) =>
  `The highest rate at which 99 of 100 calls arrive within ${HELD_MS} ms and none is refused, on the same two cores. The rate doubles
until one fails; then the search halves the interval, down to 250 a second. Each rate runs for ${forMs / 1_000} s, on fresh processes
that were warmed up for ${WARM_MS / 1_000} s.`
