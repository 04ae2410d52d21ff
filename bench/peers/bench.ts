import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { median } from '../figures/summary.ts'
import { ENDPOINTS, startCalls, warmUp } from '../load/scenario.ts'
import type { Hosts } from '../receivers/start.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { familiesOf, MB, memoryOf, nowUs, sleepUntil } from '../stack/machine.ts'
import { type Cost, type Line, type RunningLine, runAtRate, runClosed, startSluice } from '../system/rate.ts'
import { COMMIT as CONVOY, prepareConvoy } from './convoy.ts'
import { COMMIT as OUTPOST, prepareOutpost } from './outpost.ts'
import type { StartOptions } from './stores.ts'
import { prepareSvix, COMMIT as SVIX } from './svix.ts'

const RATES = [300, 1_000]
const WARM_MS = 15_000
const MEASURE_MS = 30_000
const CONNECTIONS = 50
const TROUBLE = { perSecond: 1_000, bad: 4, behaviour: 'silent' } as const
const KILL = { perSecond: 300, afterMs: 10_000, forMs: 30_000, settledMs: 120_000 }
const ONE_HOST: Hosts = new Array<number>(ENDPOINTS).fill(0)

type Contender = { name: string; start: (options?: StartOptions) => Promise<RunningLine> }

/** Sluice and its peers under the same load, in turns. `minutes`: with hanging webhooks. */
export async function bench({ rounds = 3, minutes = 1 } = {}): Promise<string> {
  const peers: Contender[] = [
    { name: 'Hookdeck Outpost', start: await prepareOutpost() },
    { name: 'Svix server', start: await prepareSvix() },
    { name: 'Convoy', start: await prepareConvoy() },
  ]
  await using stack = await startStack()
  await warmUp(stack)
  const contenders: Contender[] = [
    { name: '**Sluice**', start: ({ hosts } = {}) => startWithRegistry(stack, hosts) },
    ...peers,
  ]
  const all: Result[][] = contenders.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, contender] of contenders.entries())
      all[index]?.push(await measure(contender, minutes * 60_000))
  return report(
    contenders.map(({ name }, index) => ({ name, rounds: all[index] ?? [] })),
    minutes,
  )
}

/** Its stores are Kafka and the schema registry. */
async function startWithRegistry(stack: Stack, hosts?: number | Hosts): Promise<RunningLine> {
  const line = await startSluice(stack, hosts)
  return { ...line, pids: { ...line.pids, stores: [stack.brokerPid, stack.registryPid] } }
}

type AtRate = WindowReport & { us: Cost; memory: Cost }
type Result = {
  rates: readonly AtRate[]
  closed: { delivered: number; us: Cost }
  hosts: WindowReport
  oneHost: WindowReport
  kill: Kill
}

/** Each measurement has fresh processes and empty stores. */
async function measure({ start }: Contender, troubleMs: number): Promise<Result> {
  const rates: AtRate[] = []
  for (const perSecond of RATES) {
    await using line = await start()
    const run = await runAtRate(line, { perSecond, warmMs: WARM_MS, forMs: MEASURE_MS })
    rates.push({ ...run, memory: await memory(line) })
  }
  return {
    rates,
    closed: await withLine(start, {}, (line) =>
      runClosed(line, { connections: CONNECTIONS, warmMs: WARM_MS, forMs: MEASURE_MS }),
    ),
    hosts: await withLine(start, {}, (line) => runTrouble(line, troubleMs)),
    oneHost: await withLine(start, { hosts: ONE_HOST }, (line) => runTrouble(line, troubleMs)),
    kill: await withLine(start, { isSplit: true }, runKill),
  }
}

async function withLine<T>(
  start: Contender['start'],
  options: StartOptions,
  run: (line: RunningLine) => Promise<T>,
): Promise<T> {
  await using line = await start(options)
  return await run(line)
}

async function memory({ pids: { own, stores } }: Line): Promise<Cost> {
  const of = async (pids: readonly number[]) => (await memoryOf(await familiesOf(pids))) / MB
  return { own: await of(own), stores: await of(stores) }
}

/** Some webhooks never answer. @returns the figures of the others */
async function runTrouble(line: Line, forMs: number): Promise<WindowReport> {
  await line.endpoints.misbehave(TROUBLE)
  const { load, windows } = await startCalls(line, { ...TROUBLE, healthyMs: 0, windowsMs: [forMs] })
  await sleepUntil((windows[0]?.toUs ?? nowUs()) + 250_000)
  const report = await reportOf(line)
  await load.stop()
  process.stderr.write(
    `${line.target}, in trouble: ${((report.inTime / report.due) * 100).toFixed(1)} % in time, p99 ${report.p99Ms.toFixed(0)} ms\n`,
  )
  return report
}

/**
 * `lost`: accepted, but not delivered at the end. `again`: POSTs beyond one for each call. `p99Ms`: from the kill on.
 */
type Kill = { lost: number; again: number; p99Ms: number }

/** Kills the processes that deliver. Calls from before count too, as some are in flight. */
async function runKill(line: RunningLine): Promise<Kill> {
  const { perSecond, afterMs, forMs, settledMs } = KILL
  const { load, windows } = await startCalls(line, {
    ...{ bad: 0, perSecond },
    ...{ healthyMs: 0, windowsMs: [afterMs, forMs] },
  })
  const { fromUs: killUs = nowUs(), toUs = killUs } = windows[1] ?? {}
  await sleepUntil(killUs)
  await line.killDelivery()
  await sleepUntil(toUs + ANSWERED_US)
  const { errors } = await load.since()
  await load.stop()
  const result = async (): Promise<Kill> => {
    const [before, after] = (await line.endpoints.report()).windows
    if (!before || !after) throw new Error('the endpoints sent no report')
    const outstanding = before.due - before.arrived + after.due - after.arrived
    return {
      lost: Math.max(0, outstanding - errors),
      again: before.again + after.again,
      p99Ms: after.p99Ms,
    }
  }
  const until = nowUs() + settledMs * 1_000
  while (nowUs() < until && (await result()).lost > 0) await sleepUntil(nowUs() + 1e6)
  await sleepUntil(nowUs() + 5e6) // for late repetitions
  const kill = await result()
  process.stderr.write(`${line.target}, killed: ${JSON.stringify(kill)}\n`)
  return kill
}

/** For the last calls of a window: an interrupted request may not be accepted. */
const ANSWERED_US = 1e6

async function reportOf({ endpoints }: Line): Promise<WindowReport> {
  const [report] = (await endpoints.report()).windows
  if (!report) throw new Error('the endpoints sent no report')
  return report
}

const NONE = { inTime: 0, due: 1 }
/** Percent of the calls in time. Below it, a queue grows, and latencies only show how long the run was. */
const KEPT_UP = 95

type Measured = { name: string; rounds: readonly Result[] }

function report(all: readonly Measured[], minutes: number): string {
  const cell = (rounds: readonly Result[], pick: (result: Result) => number, digits = 0) =>
    Number(median(rounds.map(pick)).toFixed(digits)).toLocaleString('en-US')
  const row = (name: string, each: (rounds: readonly Result[]) => string) => [
    name,
    ...all.map(({ rounds }) => each(rounds)),
  ]
  const share = ({ inTime, due }: Pick<WindowReport, 'inTime' | 'due'>) => (inTime / due) * 100
  const cost = (rounds: readonly Result[], pick: (result: Result) => Cost | undefined) =>
    `${cell(rounds, (result) => pick(result)?.own ?? Number.NaN)} + ${cell(rounds, (result) => pick(result)?.stores ?? Number.NaN)}`
  const keepsUp = (rounds: readonly Result[], index: number) =>
    median(rounds.map(({ rates }) => share(rates[index] ?? NONE))) >= KEPT_UP
  const trouble = (rounds: readonly Result[], pick: (result: Result) => WindowReport) =>
    `${cell(rounds, (result) => share(pick(result)), 1)} %, ${cell(rounds, (result) => pick(result).p99Ms)}`
  const atRates = RATES.flatMap((perSecond, index) => {
    const at = `at ${perSecond.toLocaleString('en-US')}/s`
    const rate = (result: Result) => result.rates[index]
    return [
      row(`p50, p99 ms ${at}`, (rounds) =>
        keepsUp(rounds, index)
          ? (['p50Ms', 'p99Ms'] as const)
              .map((figure) => cell(rounds, (it) => rate(it)?.[figure] ?? Number.NaN))
              .join(', ')
          : `${cell(rounds, (it) => share(rate(it) ?? NONE))} % in time`,
      ),
      row(`us of CPU per event ${at}, own + stores`, (rounds) =>
        keepsUp(rounds, index) ? cost(rounds, (it) => rate(it)?.us) : '',
      ),
      row(`memory ${at} in MB, own + stores`, (rounds) => cost(rounds, (it) => rate(it)?.memory)),
    ]
  })
  const rows = [
    ...atRates,
    row(`events/s delivered, ${CONNECTIONS} connections`, (rounds) =>
      cell(rounds, (it) => it.closed.delivered),
    ),
    row('us of CPU per event, own + stores', (rounds) => cost(rounds, (it) => it.closed.us)),
    row('4 of 20 hang: in time, p99 ms', (rounds) => trouble(rounds, (it) => it.hosts)),
    row('the same on one host', (rounds) => trouble(rounds, (it) => it.oneHost)),
    row('kill -9: lost, sent twice, p99 ms', (rounds) =>
      keepsUp(rounds, RATES.indexOf(KILL.perSecond))
        ? (['lost', 'again', 'p99Ms'] as const)
            .map((figure) => cell(rounds, (it) => it.kill[figure]))
            .join(', ')
        : '',
    ),
  ]
  return `${explained(all[0]?.rounds.length ?? 0, minutes)}\n\n${markdownTable(['', ...all.map(({ name }) => name)], rows)}`
}

const explained = (rounds: number, minutes: number) =>
  `Sluice, Outpost (commit ${OUTPOST.slice(0, 12)}), Svix (${SVIX.slice(0, 12)}) and Convoy (${CONVOY.slice(0, 12)}) in turns, with the same calls,
receivers and machine. Each measurement has fresh processes and empty stores. Calls have 1 KB, and each goes to one of ${ENDPOINTS}
signed webhooks, which have five seconds to answer. Load, system, stores and receivers share two cores.

"Stores" are Kafka and the schema registry for Sluice; Redis, PostgreSQL and RabbitMQ for Outpost; Redis and PostgreSQL
for Svix and Convoy, whose queue is in Redis, with its log on disk (\`appendonly yes\`). All have one copy of all data, on
one disk. Outpost makes 100 deliveries at a time: it delivers less with its default of 1. Convoy may take more than its
default of 1,000 calls a second. The peers log only warnings or errors, and Outpost sends no telemetry. Everything else
has its default settings.

- **A peer that does not keep up** with a rate (less than ${KEPT_UP} % in time) has no latencies and no CPU times at that rate.
- **4 of 20 hang**: ${TROUBLE.bad} webhooks never answer, at ${TROUBLE.perSecond.toLocaleString('en-US')} calls a second for ${minutes === 1 ? 'a minute' : `${minutes} minutes`}. The figures are those of the other ${ENDPOINTS - TROUBLE.bad}.
  "In time": arrived by the end, or ${GRACE_US / 1_000} ms later. Peers that do not keep up with the rate are late without this too.
- **kill -9**: at ${KILL.perSecond} calls a second, the processes that deliver are killed and started again at once. In this test,
  Outpost and Svix have a separate process for deliveries, as Convoy always has; in the other tests, one process does
  everything. "Lost": accepted, but not delivered ${KILL.settledMs / 60_000} minutes later. p99 covers the ${KILL.forMs / 1_000} s after the kill.

Medians of ${rounds} rounds.`
