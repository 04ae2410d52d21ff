import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { startStack } from '../../harness/kafka/stack.ts'
import type { Launched } from '../../harness/launch.ts'
import { type PreparedSystem, prepareSystem, putDestinations, startRole } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { DUE } from '../../schemas/topics.ts'
import { verdict } from '../figures/summary.ts'
import { startSink } from '../receivers/start.ts'
import { cpuSeconds, highestRss, MB } from '../stack/machine.ts'
import { alterTopics, recordsWritten } from '../stack/topics.ts'
import { openRungWriter, type RungWriter, readKey } from './rung-writer.ts'

const SHORT = { name: '5s', delayMs: 5_000 }
const LONG = { name: '60m', delayMs: 3_600_000 }
const PER_SECOND = 500
const BACKLOG = 1_000_000
const WARM_MS = 8_000

export async function bench({ backlog = BACKLOG, minutes = 0.5 } = {}): Promise<string> {
  const measureMs = minutes * 60_000
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const sink = closing.adopt(await startSink(), (it) => it.stop())
  const system = await prepareSystem({ ...stack, sources: [] })
  await putDestinations(system, [{ id: 'bench', sourceId: 'bench', url: `http://127.0.0.1:${sink.port}/` }])
  // the broker's time, not the writer's
  await alterTopics(system, [DUE], { 'message.timestamp.type': 'LogAppendTime' })
  const deliverer = closing.adopt(await startRole('deliverer', system), async (it) => void (await it.kill()))
  const writer = closing.adopt(await openRungWriter(system), (it) => it.close())

  await measure('warm', { writer, deliverer, forMs: WARM_MS })
  const phases = [await measure('without', { writer, deliverer, forMs: measureMs })]
  await writer.fill(LONG, { records: backlog, mark: 'backlog' })
  phases.push(await measure('with', { writer, deliverer, forMs: measureMs }))
  return report(phases, { backlog, perSecond: PER_SECOND, lateness: await latenessOf(system) })
}

type Measuring = { writer: RungWriter; deliverer: Launched; forMs: number }

/** Writes into the short rung for a while, until the last record is due. */
async function measure(mark: string, { writer, deliverer: { pid }, forMs }: Measuring): Promise<Phase> {
  const writing = writer.pace(SHORT, { perSecond: PER_SECOND, forMs, mark })
  await sleep(SHORT.delayMs)
  const before = await cpuSeconds(pid)
  const [rss = 0] = await highestRss([pid], forMs)
  const written = await writing
  const cpuShare = ((await cpuSeconds(pid)) - before) / (forMs / 1_000)
  await sleep(1_000) // for late records
  process.stderr.write(`${mark}: ${Math.round(rss / MB)} MB, core ${(cpuShare * 100).toFixed(0)} %\n`)
  return { mark, written, rss, cpuShare }
}

/** `written`: to the short rung. `rss`: the deliverer's highest, in bytes. `cpuShare`: of a core. */
type Phase = { mark: string; written: number; rss: number; cpuShare: number }

function report(
  phases: readonly Phase[],
  { backlog, perSecond, lateness }: { backlog: number; perSecond: number; lateness: Lateness },
): string {
  const rows = phases.map(({ mark, written, rss, cpuShare }) => {
    const late = lateness.get(mark)
    const ms = (percentile: number) => String((late?.percentile(percentile) ?? Number.NaN) - 1)
    return [
      `${mark} the backlog`,
      `${late?.count ?? 0} of ${written}`,
      ...[ms(50), `**${ms(99)}**`, ms(100)],
      ...[(rss / MB).toFixed(0), `${(cpuShare * 100).toFixed(0)} %`],
    ]
  })
  return `${perSecond} failed deliveries of 1 KB a second into the 5 s rung, each with its due time; from that time until the broker had it in
\`deliveries.due\`. The deliverer, as \`npm start\` runs it, also attempts what is due; the receiver answers at once. Then the
same with ${backlog.toLocaleString('en-US')} deliveries in the 60 min rung, written at once. All processes share two cores.

${markdownTable(
  ['', 'due', 'late p50, ms', 'p99, ms', 'longest, ms', "deliverer's RSS, MB", 'its CPU, of a core'],
  [...rows, ['goal', '', '', '<= 250', '', '', '']],
)}

${verdict(phases.map(({ mark }) => ({ what: `p99 in ms ${mark} the backlog`, is: (lateness.get(mark)?.percentile(99) ?? Number.NaN) - 1, atMost: 250 })))}`
}

/** Delays by mark, in ms plus one, as histograms begin at 1. */
type Lateness = ReadonlyMap<string, RecordableHistogram>

/** By the broker's times in `deliveries.due`. */
async function latenessOf(system: PreparedSystem): Promise<Lateness> {
  const { kafka, named } = system.connection
  const lateness = new Map<string, RecordableHistogram>()
  let left = await recordsWritten(system, DUE)
  const over = Promise.withResolvers<void>()
  if (left === 0) over.resolve()
  const consumer = kafka.consumer({ groupId: named('bench.lateness') })
  await consumer.connect()
  await consumer.subscribe({ topics: [named(DUE)], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message: { key, timestamp } }) => {
      const { mark, dueAt } = readKey(String(key))
      const histogram = lateness.get(mark) ?? createHistogram()
      histogram.record(Math.max(0, Number(timestamp) - dueAt) + 1)
      lateness.set(mark, histogram)
      left -= 1
      if (left === 0) over.resolve()
    },
  })
  await over.promise
  await consumer.disconnect()
  return lateness
}
