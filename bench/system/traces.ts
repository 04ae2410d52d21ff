import { setTimeout as sleep } from 'node:timers/promises'
import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { prepareSystem, putDestinations } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { median, spread } from '../figures/summary.ts'
import { startLoadOn, WRITE_KEY } from '../ingest/measure.ts'
import { startSink } from '../receivers/start.ts'
import { forkScript } from '../stack/forked.ts'
import { cpuSeconds, MB, rssBytes } from '../stack/machine.ts'
import { startRoles } from '../stack/pipeline.ts'

/** Longer than the export delay: all spans of the previous case have arrived. */
const WARM_MS = 6_000
const MEASURE_MS = 6_000
/** For compilation, and for buffers to reach their size. */
const FIRST_MS = 15_000

const ON = { OTEL_TRACES_EXPORTER: 'otlp' }
const SOME = { ...ON, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }
const modes = { off: {}, '1 %': SOME, all: ON } as const
type Mode = keyof typeof modes

const loads = [
  { name: '2,000 singles/s', path: '/v1/track', batch: 1, connections: 50, perSecond: 2_000 },
  { name: '200 batches of 20/s', path: '/v1/batch', batch: 20, connections: 20, perSecond: 200 },
]

const ROLES = ['ingest', 'router', 'deliverer'] as const
type Line = { url: string; pids: Readonly<Record<(typeof ROLES)[number], number>> }
/** Per event: microseconds of CPU of each process, and exported bytes. */
type Cost = Record<(typeof ROLES)[number] | 'bytes', number>

export async function bench({ rounds = 4 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const sink = closing.adopt(await startSink(), (it) => it.stop())
  const collector = closing.adopt(forkScript(new URL('../receivers/collector.ts', import.meta.url)), (it) =>
    it.stop(),
  )
  const endpoint = `http://127.0.0.1:${await collector.next<number>()}`
  const lines = new Map<Mode, Line>()
  for (const mode of Object.keys(modes) as Mode[])
    lines.set(mode, await startLine(stack, closing, { webhook: sink.port, env: envOf(mode, endpoint) }))
  const tables: string[] = []
  for (const load of loads) {
    const costs = new Map<Mode, Cost[]>()
    for (const line of lines.values()) await costOf(line, load, { forMs: FIRST_MS, collector })
    for (let round = 0; round < rounds; round++)
      for (const [mode, line] of lines) {
        const cost = await costOf(line, load, { forMs: MEASURE_MS, collector })
        costs.set(mode, [...(costs.get(mode) ?? []), cost])
      }
    tables.push(`${load.name}:\n\n${table(costs)}`)
  }
  return [explained(rounds), ...tables, await memory(lines)].join('\n\n')
}

const envOf = (mode: Mode, OTEL_EXPORTER_OTLP_ENDPOINT: string): Record<string, string> =>
  mode === 'off' ? {} : { ...modes[mode], OTEL_EXPORTER_OTLP_ENDPOINT }

async function startLine(
  stack: Stack,
  closing: AsyncDisposableStack,
  { webhook, env }: { webhook: number; env: Record<string, string> },
): Promise<Line> {
  const sources = [{ id: 'bench', writeKey: WRITE_KEY, enabled: true }]
  const plain = await prepareSystem({ ...stack, sources })
  const url = `http://127.0.0.1:${webhook}/webhook`
  await putDestinations(plain, [{ id: 'bench', sourceId: 'bench', url }])
  // the load repeats the same thousand calls
  const system = { ...plain, env: { ...plain.env, DEDUP_WINDOW: '10ms', ...env } }
  const { ingest, router, deliverer } = await startRoles(system, closing)
  return { url: ingest.url, pids: { ingest: ingest.pid, router: router.pid, deliverer: deliverer.pid } }
}

type Measuring = { forMs: number; collector: ReturnType<typeof forkScript> }

async function costOf(
  { url, pids }: Line,
  load: (typeof loads)[number],
  { forMs, collector }: Measuring,
): Promise<Cost> {
  const running = await startLoadOn({ pid: 0, url }, load)
  await sleep(WARM_MS)
  await running.since()
  await collector.ask<number>('bytes')
  const before = await Promise.all(ROLES.map((role) => cpuSeconds(pids[role])))
  await sleep(forMs)
  const { requests } = await running.since()
  const after = await Promise.all(ROLES.map((role) => cpuSeconds(pids[role])))
  const bytes = await collector.ask<number>('bytes')
  await running.stop()
  const events = requests * load.batch
  const us = (index: number) => (((after[index] ?? 0) - (before[index] ?? 0)) * 1e6) / events
  return { ingest: us(0), router: us(1), deliverer: us(2), bytes: bytes / events }
}

function table(costs: ReadonlyMap<Mode, readonly Cost[]>): string {
  const rows = [...costs].map(([mode, all]) => {
    const of = (what: keyof Cost) => all.map((cost) => cost[what])
    const sums = all.map(({ ingest, router, deliverer }) => ingest + router + deliverer)
    return [
      mode,
      ...ROLES.map((role) => spread(of(role), 0)),
      spread(sums, 0),
      String(Math.round(median(of('bytes')))),
    ]
  })
  return markdownTable(['traces', ...ROLES, 'together', 'bytes exported'], rows)
}

async function memory(lines: ReadonlyMap<Mode, Line>): Promise<string> {
  const rows = await Promise.all(
    [...lines].map(async ([mode, { pids }]) => {
      const all = await Promise.all(ROLES.map((role) => rssBytes(pids[role])))
      return [mode, ...all.map((bytes) => String(Math.round(bytes / MB)))]
    }),
  )
  return `RSS afterwards, MB:\n\n${markdownTable(['traces', ...ROLES], rows)}`
}

const explained = (
  rounds: number,
) => `Microseconds of CPU of each process per event of 1 KB with one destination, from the call to the POST, at a rate that leaves
cores idle: batches to Kafka are then small, so an event costs more than at full speed. Three lines of ingest, router and
deliverer run side by side on one broker and take turns: traces off, one call in a hundred (\`parentbased_traceidratio\`,
0.01), and all of them (the default sampler), sent as OTLP protobuf to a collector that reads and drops it. Median of ${rounds}
rounds, with the lowest and the highest.`
