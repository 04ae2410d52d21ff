import { startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { ATTEMPTS, DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import { verdict } from '../figures/summary.ts'
import { beginScenario, ENDPOINTS, type ScenarioResult } from '../load/scenario.ts'
import { highestRss, MB } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'
import { shortenRetention } from '../stack/topics.ts'

const PER_SECOND = 2_000
const SILENT = 4
const MINUTE_MS = 60_000
const HEALTHY_MS = 10_000

/** Bytes of the ids that the router remembers. @param metrics the text of /metrics */
const idsIn = (metrics: string) => Number(/^sluice_router_ids_bytes (\S+)$/m.exec(metrics)?.[1])

export async function bench({ minutes = 20, minuteMs = MINUTE_MS } = {}): Promise<string> {
  await using stack = await startStack()
  await using pipeline = await startPipeline(stack, ENDPOINTS)
  // in twenty minutes the topics would grow to 8 GB; records older than ten minutes have been read
  await shortenRetention(pipeline.system, { topics: [EVENTS, DELIVERIES, ATTEMPTS], ms: 600_000 })
  const { pids } = pipeline
  const outcome = await beginScenario(pipeline, {
    name: 'memory',
    bad: SILENT,
    behaviour: 'silent',
    perSecond: PER_SECOND,
    healthyMs: HEALTHY_MS,
    windowsMs: Array.from({ length: minutes }, () => minuteMs),
  })
  const start = performance.now()
  const samples: Sample[] = []
  for (let minute = 1; minute <= minutes; minute++) {
    const leftMs = start + minute * minuteMs - performance.now()
    const of = [pids.deliverer, pids.router, pids.ingest]
    const [deliverer = 0, router = 0, ingest = 0] = await highestRss(of, leftMs)
    samples.push({ deliverer, router, ingest, ids: idsIn(await pipeline.router.metrics()) })
    process.stderr.write(`minute ${minute}: ${Math.round(deliverer / MB)} MB\n`)
  }
  const explained = `${PER_SECOND.toLocaleString('en-US')} calls of 1 KB a second through ingest, router and deliverer to ${ENDPOINTS} webhooks as in
\`isolation\`. From the first minute on, ${SILENT} of them never answer. The table has the highest resident memory of each minute, and
what healthy webhooks get. The router remembers ids for an hour (\`DEDUP_WINDOW\`), so their memory grows during the whole run.`
  return `${explained}\n\n${report(samples, await outcome())}`
}

/** Resident memory in one minute, in bytes. `ids`: the router's remembered ids. */
type Sample = Record<(typeof PROCESSES)[number] | 'ids', number>

const PROCESSES = ['deliverer', 'router', 'ingest'] as const

function report(samples: readonly Sample[], { windows, toRungs, delivererUs }: ScenarioResult): string {
  const rows = samples.map((sample, index) => {
    const { inTime = 0, due = 0, p99Ms = Number.NaN } = windows[index] ?? {}
    const megabytes = PROCESSES.map((name) => (sample[name] / MB).toFixed(0))
    const ids = (sample.ids / MB).toFixed(0)
    return [String(index + 1), ...megabytes, ids, `${((inTime / due) * 100).toFixed(1)} %`, p99Ms.toFixed(1)]
  })
  const head = [
    'minute',
    ...PROCESSES.map((name) => `${name}, MB`),
    'ids in the router, MB',
    'in time',
    'p99 ms',
  ]
  const growth = PROCESSES.map((name) => `${name} **${growthOf(samples, name).toFixed(2)}**`)
  const highest = highestOf(samples, 'deliverer') / MB
  return `${markdownTable(head, rows)}

The highest from minute 3 on, relative to minute 2 (goal <= 1.10): ${growth.join(', ')}. The deliverer had at most **${highest.toFixed(0)} MB** (goal <= 256), took
${delivererUs.toFixed(0)} us of CPU per call, and wrote ${toRungs.toLocaleString('en-US')} records to rungs.

${verdict([
  ...PROCESSES.map((name) => ({ what: `the growth of ${name}`, is: growthOf(samples, name), atMost: 1.1 })),
  ...PROCESSES.map((name) => ({
    what: `the highest MB of ${name}`,
    is: highestOf(samples, name) / MB,
    atMost: 256,
  })),
])}`
}

/** Breakers have opened by minute 2, and deferred deliveries come back. */
const growthOf = (samples: readonly Sample[], name: keyof Sample) =>
  highestOf(samples.slice(2), name) / (samples[1]?.[name] ?? Number.NaN)

const highestOf = (samples: readonly Sample[], name: keyof Sample) =>
  Math.max(...samples.map((sample) => sample[name]))
