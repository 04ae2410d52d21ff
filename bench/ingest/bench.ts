import { median, verdict } from '../figures/summary.ts'
import { type Load, measure, startBare, startBench, type Target } from './measure.ts'
import {
  type Compared,
  comparison,
  goals,
  halfLoad,
  loneClient,
  type Round,
  type Scenario,
} from './tables.ts'

const single = { path: '/v1/track', batch: 1 }
const scenarios: readonly Scenario[] = [
  { name: 'singles on 50', ...single, connections: 50, peer: '3,400/s' },
  { name: 'singles on 200', ...single, connections: 200, atLeast: 0.4, peer: '' },
  { name: 'singles on 400', ...single, connections: 400, peer: '15,000/s' },
  {
    name: 'batches of 20 on 50',
    path: '/v1/batch',
    batch: 20,
    connections: 50,
    atLeast: 0.3,
    peer: '38,900/s, 35 us with its store',
  },
]
/** These run again at half of their measured rate. */
const halved = new Set(['singles on 200', 'batches of 20 on 50'])

export async function bench({ rounds = 4, measureMs = 4_000 } = {}): Promise<string> {
  await using started = await startBench()
  const { sluice } = started
  const bare = await startBare()
  const compared: Compared[] = []
  const halves: Compared[] = []
  for (const scenario of scenarios) {
    const results = await compare(scenario, { sluice, bare, rounds, measureMs })
    compared.push({ scenario, rounds: results })
    if (!halved.has(scenario.name)) continue
    const half = (which: keyof Round): Load => ({
      ...scenario,
      perSecond: median(results.map((round) => round[which].perSecond)) / scenario.batch / 2,
    })
    halves.push({
      scenario,
      rounds: await repeat(rounds, async () => ({
        bare: await measure(bare, half('bare'), measureMs),
        sluice: await measure(sluice, half('sluice'), measureMs),
      })),
    })
  }
  const alone = await measure(sluice, { ...single, name: 'one client', connections: 1 }, measureMs)
  await bare.stop()
  return [
    explained(rounds),
    comparison(compared),
    EXPLAINED_HALF,
    halfLoad(halves),
    loneClient(alone),
    verdict(goals(compared, halves, alone)),
  ].join('\n\n')
}

const explained = (rounds: number) =>
  `1 KB track calls on the given number of connections, with one request in flight on each; acks=all. Bare is node:http +
JSON.parse answering at once, with V8's default flags. The load generator and Kafka share the other core and limit
ingest's events/s here, so the ratio is of events per CPU-second. Kafka's CPU is listed for comparison with systems that
contain their store; the peer is RudderStack's gateway with PostgreSQL on both cores of a machine like this. Median of ${rounds}
alternating rounds, with the lowest and the highest.`

const EXPLAINED_HALF = `Latency at half load: bare and ingest each get half of the rate they reached above. Calls come at a fixed rate (open
loop), and latency counts from when a call was due.`

type Comparing = { sluice: Target; bare: Target; rounds: number; measureMs: number }

async function compare(scenario: Scenario, { sluice, bare, rounds, measureMs }: Comparing): Promise<Round[]> {
  await measure(sluice, scenario, measureMs) // leaves out compilation
  return repeat(rounds, async () => ({
    bare: await measure(bare, scenario, measureMs),
    sluice: await measure(sluice, scenario, measureMs),
  }))
}

async function repeat<T>(times: number, once: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let time = 0; time < times; time++) results.push(await once())
  return results
}
