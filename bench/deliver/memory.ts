import { startStack } from '../../harness/kafka/stack.ts'
import { ATTEMPTS, DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import { beginScenario, ENDPOINTS } from '../load/scenario.ts'
import { startPipeline } from '../stack/pipeline.ts'
import { highestRss, MB } from '../stack/process.ts'
import { keepLittle } from '../stack/topic-settings.ts'
import { report, type Sample } from './memory-table.ts'

const PER_SECOND = 2_000
const SILENT = 4
const MINUTE_MS = 60_000
const HEALTHY_MS = 10_000

/** Bytes in which the router remembers ids against duplicates. @param metrics as /metrics answers. */
const idsIn = (metrics: string) => Number(/^sluice_router_ids_bytes (\S+)$/m.exec(metrics)?.[1])

/** @returns the section of RESULTS.md: what the processes' memory comes to while some endpoints never answer. */
export async function bench({ minutes = 20, minuteMs = MINUTE_MS } = {}): Promise<string> {
  await using stack = await startStack()
  await using pipeline = await startPipeline(stack, ENDPOINTS)
  // twenty minutes are 8 GB; what is older than ten minutes has long been read
  await keepLittle(pipeline.system, { topics: [EVENTS, DELIVERIES, ATTEMPTS], ms: 600_000 })
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
  const explained = `${PER_SECOND.toLocaleString('en-US')} calls of 1 KB a second through ingest, router and deliverer to ${ENDPOINTS} endpoints, of which ${SILENT} never answer from the first minute on: as in
\`isolation\`. The highest resident memory of each minute; what healthy endpoints get beside it. The router
remembers ids for an hour (\`DEDUP_WINDOW\`): they grow for the whole run.`
  return `${explained}\n\n${report(samples, await outcome())}`
}
