import { setTimeout as sleep } from 'node:timers/promises'
import { startStack } from '../../harness/kafka/stack.ts'
import { prepareSystem, putDestinations, SECRET, startRole } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { cells, type Figures, runAlone } from '../figures/alternate.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { fillBacklog } from '../load/backlog.ts'
import { startSink } from '../receivers/start.ts'
import { forkScript } from '../stack/forked.ts'
import { pin } from '../stack/machine.ts'
import { RUNGS, recordsWritten } from '../stack/topics.ts'

const MEASURE_MS = 3_000
const WARM_MS = 8_000
const CONCURRENCY = 512
const BACKLOG = 450_000
const MEASURED_CORE = 0
const OTHER_CORE = 1

type Round = { bare: Figures; dispatch: Figures; sluice: Figures }

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

  const startBare = (how: 'request' | 'dispatch') =>
    closing.adopt(
      forkScript(new URL('./bare-post.ts', import.meta.url), how, String(CONCURRENCY), SECRET),
      (it) => it.stop(),
    )
  const bare = startBare('request')
  const dispatch = startBare('dispatch')
  for (const loop of [bare, dispatch]) await loop.ask([url])
  // it must not time out POSTs while it is paused
  const settings = { DELIVERY_SLOTS: String(CONCURRENCY), RESPONSE_TIMEOUT: '60s' }
  const sluice = closing.adopt(
    await startRole('deliverer', system, { settings }),
    async (it) => void (await it.kill()),
  )
  await Promise.all([bare.pid, dispatch.pid, sluice.pid].map((pid) => pin(pid, MEASURED_CORE)))
  for (const { pid } of [bare, dispatch]) process.kill(pid, 'SIGSTOP')
  await sleep(WARM_MS) // leaves out compilation
  process.kill(sluice.pid, 'SIGSTOP')
  for (const { pid } of [bare, dispatch]) await runAlone({ name: 'warm-up', pid }, sink, MEASURE_MS)
  const all: Round[] = []
  for (let round = 0; round < rounds; round++)
    all.push({
      bare: await runAlone({ name: 'bare', pid: bare.pid }, sink, MEASURE_MS),
      dispatch: await runAlone({ name: 'bare dispatch', pid: dispatch.pid }, sink, MEASURE_MS),
      sluice: await runAlone({ name: 'sluice', pid: sluice.pid }, sink, MEASURE_MS),
    })
  return `${report(all)}\n\nRecords to rungs, failed or deferred: ${await recordsWritten(system, RUNGS)}.`
}

function report(rounds: readonly Round[]): string {
  const row = (name: string, of: keyof Round, ...rest: string[]) => [
    name,
    ...cells(rounds.map((round) => round[of])),
    ...rest,
  ]
  const ratios = (to: keyof Round) =>
    rounds.map((round) => round.sluice.perCpuSecond / round[to].perCpuSecond)
  const ratio = (to: keyof Round) => `**${spread(ratios(to))}**`
  return `Signed POSTs of 1 KB answered 200 at once, ${CONCURRENCY} in flight. Bare and bare dispatch are loops over the same HTTP client
(undici) with the HMAC and nothing else, with V8's default flags. Bare is the usual way: \`request\` on an Agent with ${CONCURRENCY}
connections. Bare dispatch is what the deliverer does: \`dispatch\` on ${CONCURRENCY} Clients with a handler that makes no stream, so
it is the most that could be reached. Deliverer is the real process, as \`npm start\` runs it, working off a backlog in
Kafka with its attempt log, on a core of its own (with \`RESPONSE_TIMEOUT\` at 60s, because it is stopped while the others
run); Kafka and the receiver share the other core. Ratios are of POSTs per CPU-second. Median of ${rounds.length} alternating rounds,
with the lowest and the highest.

${markdownTable(
  [
    ...['', 'POSTs/s', 'POSTs per CPU-second', 'us of CPU per POST'],
    ...['ratio to bare', 'goal', 'ratio to bare dispatch'],
  ],
  [
    row('bare', 'bare', '', '', ''),
    row('bare dispatch', 'dispatch', '', '', ''),
    row('**deliverer**', 'sluice', ratio('bare'), '>= 0.70', ratio('dispatch')),
  ],
)}

${verdict([{ what: 'the ratio to bare', is: median(ratios('bare')), atLeast: 0.7 }])}`
}
