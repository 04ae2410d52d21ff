import { setTimeout as sleep } from 'node:timers/promises'
import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import {
  type PreparedSystem,
  prepareSystem,
  putDestinations,
  SECRET,
  startRole,
} from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { type Figures, runAlone } from '../figures/alternate.ts'
import { median, spread, spreadOfCounts, verdict } from '../figures/summary.ts'
import { fillBacklog } from '../load/backlog.ts'
import { type Sink, startSink } from '../receivers/start.ts'
import { forkScript } from '../stack/forked.ts'
import { MB, pin, rssBytes } from '../stack/machine.ts'
import { RUNGS, recordsWritten } from '../stack/topics.ts'

const BACKLOG = 250_000
/** Before measuring: nearly all of 10,000 destinations have had a POST, and connections are open. */
const WARM_POSTS = 40_000
/** Short: a process paused for long loses its place in the consumer group. */
const MEASURE_MS = 1_500
const MEASURED_CORE = 0
const OTHER_CORE = 1
/** POSTs that a bare loop has in flight: as many as the deliverer has slots. */
const CONCURRENCY = 512
const GOAL = 0.6
const SETTINGS = { RESPONSE_TIMEOUT: '60s', DELIVERY_IDLE_CONNECTIONS: '10000' }

/** `origins`: how many hosts the destinations share. */
type Variant = { name: string; destinations: number; origins: number }

const variants: readonly Variant[] = [
  { name: '10', destinations: 10, origins: 10 },
  { name: '1,000', destinations: 1_000, origins: 1_000 },
  { name: '10,000', destinations: 10_000, origins: 10_000 },
  { name: '10,000 at 10 origins', destinations: 10_000, origins: 10 },
]

export async function bench({ rounds = 6, backlog = BACKLOG, warmPosts = WARM_POSTS } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await pin(stack.brokerPid, OTHER_CORE)
  // each has its own, because one process may have too few open files for the connections of both
  const open = async () => closing.adopt(await startSink('0.0.0.0'), (it) => it.stop())
  const sinks = { sluice: await open(), bare: await open() }
  for (const { pid } of Object.values(sinks)) await pin(pid, OTHER_CORE)
  const measured: Measured[] = []
  for (const variant of variants)
    measured.push(
      await measure(await prepareVariant(stack, { variant, sinks, backlog }), { sinks, rounds, warmPosts }),
    )
  return report(measured, MEASURE_MS)
}

type Round = { sluice: Figures; bare: Figures }
type Sinks = { sluice: Sink; bare: Sink }
type Preparing = { variant: Variant; sinks: Sinks; backlog: number }
/** `urls`: of the bare loop. */
type Prepared = { name: string; system: PreparedSystem; urls: readonly string[] }
type Measuring = { sinks: Sinks; rounds: number; warmPosts: number }

async function prepareVariant(stack: Stack, { variant, sinks, backlog }: Preparing): Promise<Prepared> {
  const system = await prepareSystem({ ...stack, sources: [] })
  const urlsAt = ({ port }: Sink) =>
    Array.from(
      { length: variant.destinations },
      (_, index) => `http://${loopback(index % variant.origins)}:${port}/${index}`,
    )
  const destinations = urlsAt(sinks.sluice).map((url, index) => ({
    id: `destination-${index}`,
    sourceId: 'bench',
    url,
  }))
  await putDestinations(system, destinations)
  const destinationIds = destinations.map(({ id }) => id)
  await fillBacklog(system, { destinationIds, deliveries: backlog })
  return { name: variant.name, system, urls: urlsAt(sinks.bare) }
}

/** One variant at a time: in longer pauses, the deliverer would close its idle connections. */
async function measure(
  { name, system, urls }: Prepared,
  { sinks, rounds, warmPosts }: Measuring,
): Promise<Measured> {
  await using closing = new AsyncDisposableStack()
  // paused processes must not time out their POSTs
  const { pid, kill } = await startRole('deliverer', system, { settings: SETTINGS })
  closing.defer(async () => void (await kill()))
  await pin(pid, MEASURED_CORE)
  await warm(sinks.sluice, warmPosts)
  process.kill(pid, 'SIGSTOP')
  const script = new URL('./bare-post.ts', import.meta.url)
  const loop = forkScript(script, 'request', String(CONCURRENCY), SECRET)
  closing.defer(loop.stop)
  await pin(loop.pid, MEASURED_CORE)
  await loop.ask([...urls])
  await warm(sinks.bare, warmPosts)
  process.kill(loop.pid, 'SIGSTOP')
  const all: Round[] = []
  let rss = 0
  for (let round = 0; round <= rounds; round++) {
    const bare = await runAlone({ name: `bare, ${name}`, pid: loop.pid }, sinks.bare, MEASURE_MS)
    all.push({ bare, sluice: await runAlone({ name, pid }, sinks.sluice, MEASURE_MS) })
    rss = Math.max(rss, await rssBytes(pid))
  }
  // without the first: a resumed process needs a moment to reach full speed
  return { name, rounds: all.slice(1), rss, toRungs: await recordsWritten(system, RUNGS) }
}

const loopback = (index: number) => `127.2.${Math.floor(index / 250)}.${(index % 250) + 1}`

/** Leaves out compilation. */
async function warm(sink: Sink, posts: number): Promise<void> {
  for (let done = 0; done < posts; done += (await sink.since()).requests) await sleep(100)
}

/** `rss`: highest resident memory in bytes. `toRungs`: records written to rungs, failed or deferred. */
type Measured = { name: string; rounds: Round[]; rss: number; toRungs: number }

function report(measured: readonly Measured[], measureMs: number): string {
  const us = ({ perCpuSecond }: Figures) => 1e6 / perCpuSecond
  const ratios = (rounds: readonly Round[]) =>
    rounds.map(({ sluice, bare }) => sluice.perCpuSecond / bare.perCpuSecond)
  const rows = measured.map(({ name, rounds, rss, toRungs }) => [
    name,
    spread(
      rounds.map(({ bare }) => us(bare)),
      1,
    ),
    spreadOfCounts(rounds.map(({ sluice }) => sluice.perSecond)),
    spread(
      rounds.map(({ sluice }) => us(sluice)),
      1,
    ),
    `**${spread(ratios(rounds))}**`,
    (rss / MB).toFixed(0),
    ...(['bare', 'sluice'] as const).map((of) =>
      median(rounds.map((round) => round[of].openedPerThousand)).toFixed(1),
    ),
    toRungs.toLocaleString('en-US'),
    `>= ${GOAL}`,
  ])
  return `The deliverer, as \`npm start\` runs it, works off a backlog of signed POSTs of 1 KB, spread evenly over its destinations. A
bare loop signs and POSTs to the same destinations in turn, with ${CONCURRENCY} POSTs in flight and the same HTTP client (undici,
\`request\` on an Agent). Each destination has its own origin (an address of 127.0.0.0/8, with one receiver behind all of
them); in the last row, ten origins share all destinations. Deliverer and loop run in turns on one core; Kafka and the
receivers have the other. Settings are read and connections are open. That is the best case for many origins: a destination
that gets calls less often than its connection is kept open needs a new connection each time. Unlike under \`npm start\`,
\`DELIVERY_IDLE_CONNECTIONS\` is 10000, \`RESPONSE_TIMEOUT\` is 60s, and the receivers keep connections open for 300 s, so
that a paused deliverer does not lose its own.
Ratios compare POSTs per CPU-second. Median of ${measured[0]?.rounds.length} alternating rounds of ${measureMs / 1_000} s, with the lowest and the highest.

${markdownTable(
  [
    ...[
      'destinations',
      'bare: us of CPU per POST',
      'deliverer: POSTs/s',
      'us of CPU per POST',
      'ratio',
      'RSS, MB',
    ],
    ...['bare: new connections per 1,000 POSTs', 'deliverer: the same', 'records to rungs', 'goal'],
  ],
  rows,
)}

${verdict(measured.map(({ name, rounds }) => ({ what: `the ratio at ${name}`, is: median(ratios(rounds)), atLeast: GOAL })))}`
}
