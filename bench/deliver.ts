import { setTimeout as sleep } from 'node:timers/promises'
import { prepareSystem } from '../test/ingest/ingest-process.ts'
import { fillBacklog } from './deliver-backlog.ts'
import { putDestinations, SECRET } from './destinations.ts'
import { forkScript } from './forked.ts'
import { RUNGS, recordsWritten } from './outside.ts'
import { pin } from './process.ts'
import { startRole } from './roles.ts'
import { startSink } from './sink-process.ts'
import { startStack } from './stack.ts'
import { markdownTable, median, spread, spreadOfCounts } from './stats.ts'
import { type Figures, takeTurn } from './turns.ts'

const MEASURE_MS = 3_000
const CONCURRENCY = 512
const BACKLOG = 300_000
const MEASURED_CORE = 0
const OTHER_CORE = 1

type Round = { bare: Figures; sluice: Figures }

/** @returns the section of RESULTS.md: signed POSTs answered 200 per core of the real process, against the bare client loop. */
export async function bench({ rounds = 4 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await pin(stack.brokerPid, OTHER_CORE)
  const sink = closing.adopt(await startSink(), (it) => it.stop())
  await pin(sink.pid, OTHER_CORE)
  const url = `http://127.0.0.1:${sink.port}/webhook`
  const system = await prepareSystem({ ...stack, sources: [] })
  await putDestinations(system, [{ id: 'bench', sourceId: 'bench', url }])
  await fillBacklog(system, { destinationIds: ['bench'], deliveries: BACKLOG })

  const bare = closing.adopt(forkScript('bare-post.ts', url, String(CONCURRENCY), SECRET), (it) => it.stop())
  const settings = { DELIVERY_SLOTS: String(CONCURRENCY) }
  const sluice = closing.adopt(
    await startRole('deliverer', system, settings),
    async (it) => void (await it.kill()),
  )
  await Promise.all([bare.pid, sluice.pid].map((pid) => pin(pid, MEASURED_CORE)))
  process.kill(bare.pid, 'SIGSTOP')
  await sleep(MEASURE_MS) // what the compilers take is not counted
  process.kill(sluice.pid, 'SIGSTOP')
  const all: Round[] = []
  for (let round = 0; round < rounds; round++)
    all.push({
      bare: await takeTurn({ name: 'bare', pid: bare.pid }, sink, MEASURE_MS),
      sluice: await takeTurn({ name: 'sluice', pid: sluice.pid }, sink, MEASURE_MS),
    })
  return `${report(all)}\n\nRecords to rungs, failed or put off: ${await recordsWritten(system, RUNGS)}.`
}

function report(rounds: readonly Round[]): string {
  const row = (name: string, figures: readonly Figures[], ...rest: string[]) => [
    name,
    spreadOfCounts(figures.map(({ perSecond }) => perSecond)),
    spreadOfCounts(figures.map(({ perCpuSecond }) => perCpuSecond)),
    (1e6 / median(figures.map(({ perCpuSecond }) => perCpuSecond))).toFixed(1),
    ...rest,
  ]
  const ratios = rounds.map(({ bare, sluice }) => sluice.perCpuSecond / bare.perCpuSecond)
  const bares = rounds.map(({ bare }) => bare)
  const sluices = rounds.map(({ sluice }) => sluice)
  return `Signed POSTs of 1 KB answered 200 at once, ${CONCURRENCY} under way; bare is a loop over the same HTTP client (undici) with the HMAC and nothing
else, with V8's own flags. Deliverer: the real process, as \`npm start\` runs it, working off a backlog in Kafka, with its attempt log, on a core of its own; Kafka and the
receiver share the other. Median of ${rounds.length} alternating rounds, with the lowest and the highest.

${markdownTable(
  ['', 'POSTs/s', 'POSTs per CPU-second', 'us of CPU per POST', 'ratio per core', 'goal'],
  [row('bare', bares, '', ''), row('**deliverer**', sluices, `**${spread(ratios)}**`, '>= 0.70')],
)}`
}
