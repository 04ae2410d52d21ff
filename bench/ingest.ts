import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { spawnTied } from '../local/tied.ts'
import { prepareSystem, startIngest } from '../test/ingest/ingest-process.ts'
import { cpuSeconds, pin, startLoad } from './process.ts'
import { startStack } from './stack.ts'
import { markdownTable, median, spread, spreadOfCounts } from './stats.ts'

const ROUNDS = 4
const WARM_MS = 1_000
const MEASURE_MS = 4_000
const WRITE_KEY = 'bench-write-key'
/** Core of what is measured; the broker and the load share the other one. */
const MEASURED_CORE = 0
const OTHER_CORE = 1

type Target = { pid: number; url: string }
type Figures = { perSecond: number; perCpuSecond: number; p50Ms: number; p99Ms: number; errors: number }

const scenarios = [
  { name: 'singles', path: '/v1/track', batch: 1, connections: 200, goal: 0.4 },
  { name: 'batches of 20', path: '/v1/batch', batch: 20, connections: 50, goal: 0.3 },
] as const
type Scenario = (typeof scenarios)[number]
type Load = Pick<Scenario, 'name' | 'path'> & { batch: number; connections: number }

/** @returns the section of RESULTS.md: acked calls per core of the real process, against bare node:http + JSON.parse. */
export async function bench(): Promise<string> {
  await using stack = await startStack()
  await pin(stack.brokerPid, OTHER_CORE)
  const system = await prepareSystem({
    ...stack,
    sources: [{ id: 'bench', writeKey: WRITE_KEY, enabled: true }],
  })
  const sluice = await startIngest(system)
  const bare = await startBare()
  await Promise.all([sluice, bare].map(({ pid }) => pin(pid, MEASURED_CORE)))
  const rows: string[][] = []
  for (const scenario of scenarios) rows.push(...(await compare(scenario, { sluice, bare })))
  const alone = await measure(sluice, { ...scenarios[0], connections: 1 })
  await Promise.all([sluice.stop(), bare.stop()])
  const low = `One client alone: answered after ${alone.p50Ms.toFixed(1)} ms (p50), ${alone.p99Ms.toFixed(1)} ms (p99).`
  return `${EXPLAINED}\n\n${markdownTable(HEAD, rows)}\n\n${low}`
}

const HEAD = [
  '',
  'events/s',
  'events per CPU-second',
  'us of CPU per event',
  'p50 ms',
  'p99 ms',
  'ratio per core',
  'goal',
]
const EXPLAINED = `1 KB track calls, singles on 200 connections, batches on 50; acks=all; bare is node:http + JSON.parse answering at once. The load generator and
Kafka share the other core and are what limits ingest's events/s here, so that the ratio is that of the events per CPU-second.
Median of ${ROUNDS} alternating rounds, with the lowest and the highest.`

async function compare(
  scenario: Scenario,
  { sluice, bare }: { sluice: Target; bare: Target },
): Promise<string[][]> {
  const rounds: { sluice: Figures; bare: Figures }[] = []
  await measure(sluice, scenario) // what the compilers take is not counted
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ bare: await measure(bare, scenario), sluice: await measure(sluice, scenario) })
  const ratios = rounds.map((round) => round.sluice.perCpuSecond / round.bare.perCpuSecond)
  return [
    [`${scenario.name}, bare`, ...cells(rounds.map((round) => round.bare)), '', ''],
    [
      `${scenario.name}, **ingest**`,
      ...cells(rounds.map((round) => round.sluice)),
      `**${spread(ratios)}**`,
      `>= ${scenario.goal.toFixed(2)}`,
    ],
  ]
}

function cells(figures: readonly Figures[]): string[] {
  const errors = figures.reduce((sum, figure) => sum + figure.errors, 0)
  return [
    `${spreadOfCounts(figures.map(({ perSecond }) => perSecond))}${errors > 0 ? ` **${errors} errors**` : ''}`,
    spreadOfCounts(figures.map(({ perCpuSecond }) => perCpuSecond)),
    (1e6 / median(figures.map(({ perCpuSecond }) => perCpuSecond))).toFixed(1),
    median(figures.map(({ p50Ms }) => p50Ms)).toFixed(1),
    median(figures.map(({ p99Ms }) => p99Ms)).toFixed(1),
  ]
}

async function measure({ pid, url }: Target, { name, path, batch, connections }: Load): Promise<Figures> {
  const load = startLoad({ url, path, writeKey: WRITE_KEY, batch, connections })
  await pin(load.pid, OTHER_CORE)
  await sleep(WARM_MS)
  await load.since()
  const [cpu, start] = [await cpuSeconds(pid), performance.now()]
  await sleep(MEASURE_MS)
  const { requests, ...report } = await load.since()
  const [seconds, used] = [(performance.now() - start) / 1_000, (await cpuSeconds(pid)) - cpu]
  await load.stop()
  const figures = {
    ...report,
    perSecond: (requests * batch) / seconds,
    perCpuSecond: (requests * batch) / used,
  }
  process.stderr.write(
    `${name} ${url}: ${Math.round(figures.perSecond)}/s, ${(1e6 / figures.perCpuSecond).toFixed(1)} us, core ${((used / seconds) * 100).toFixed(0)} %\n`,
  )
  return figures
}

async function startBare() {
  const address = Promise.withResolvers<string>()
  const args = [fileURLToPath(new URL('./bare.ts', import.meta.url))]
  const tied = spawnTied(process.execPath, { args, onLine: address.resolve })
  return { ...tied, url: await address.promise }
}
