import { setTimeout as sleep } from 'node:timers/promises'
import { markdownTable } from '../../harness/results.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { verdict } from '../figures/summary.ts'
import type { LoadReport } from '../load/start.ts'
import { highestRss, MB } from '../stack/machine.ts'
import { shortenRetention } from '../stack/topics.ts'
import { type Load, startBench, startLoadOn, type Target } from './measure.ts'

/** A share of the highest rates, with both loads at once. */
const LOAD = 0.8
const loads: readonly Load[] = [
  { name: 'singles', path: '/v1/track', batch: 1, connections: 200 },
  { name: 'batches', path: '/v1/batch', batch: 20, connections: 50 },
]

type Minute = { rss: number; reports: LoadReport[] }

export async function bench({ minutes = 10, minuteMs = 60_000, measureMs = 10_000 } = {}): Promise<string> {
  await using started = await startBench()
  const { sluice, system } = started
  await shortenRetention(system, { topics: [EVENTS], ms: 60_000 }) // ten minutes of events would be 10 GB
  await ratesOf(sluice, measureMs) // leaves out compilation
  const rates = await ratesOf(sluice, measureMs)
  const running = await Promise.all(
    loads.map((load, index) => startLoadOn(sluice, { ...load, perSecond: LOAD * (rates[index] ?? 0) })),
  )
  const seen: Minute[] = []
  for (let minute = 0; minute < minutes; minute++) {
    const [rss = Number.NaN] = await highestRss([sluice.pid], minuteMs)
    seen.push({ rss, reports: await Promise.all(running.map((load) => load.since())) })
    process.stderr.write(`minute ${minute + 1}: ${Math.round(rss / MB)} MB\n`)
  }
  await Promise.all(running.map((load) => load.stop()))
  return report(seen, minuteMs)
}

/** The highest rates, in requests a second, with both loads at once. */
async function ratesOf(sluice: Target, forMs: number): Promise<number[]> {
  const running = await Promise.all(loads.map((load) => startLoadOn(sluice, load)))
  await sleep(forMs)
  const reports = await Promise.all(running.map((load) => load.since()))
  await Promise.all(running.map((load) => load.stop()))
  return reports.map(({ requests }) => (requests / forMs) * 1_000)
}

function report(minutes: readonly Minute[], minuteMs: number): string {
  const rows = minutes.map(({ rss, reports }, index) => {
    const events = reports.reduce((sum, { requests }, load) => sum + requests * (loads[load]?.batch ?? 0), 0)
    const errors = reports.reduce((sum, load) => sum + load.errors, 0)
    return [
      String(index + 1),
      (rss / MB).toFixed(0),
      `${Math.round((events / minuteMs) * 1_000).toLocaleString('en-US')}${errors > 0 ? ` **${errors} errors**` : ''}`,
      ...reports.map(({ p99Ms }) => p99Ms.toFixed(1)),
    ]
  })
  const highest = Math.max(...minutes.slice(2).map(({ rss }) => rss))
  const growth = highest / (minutes[1]?.rss ?? Number.NaN)
  return `Singles on ${loads[0]?.connections} connections and batches of 20 on ${loads[1]?.connections}, together ${LOAD * 100} % of what ingest can do, at a fixed rate (open loop). The
table has the highest resident memory of each minute.

${markdownTable(['minute', 'RSS, MB', 'events/s', 'p99 ms, singles', 'p99 ms, batches'], rows)}

From minute 3 on, **${growth.toFixed(2)}** times that of minute 2 (goal <= 1.10), at most **${(highest / MB).toFixed(0)} MB** (goal <= 256).

${verdict([
  { what: 'the growth', is: growth, atMost: 1.1 },
  { what: 'RSS, in MB,', is: highest / MB, atMost: 256 },
])}`
}
