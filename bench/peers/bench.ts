import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { median } from '../figures/summary.ts'
import { ENDPOINTS, startCalls, warmUp } from '../load/scenario.ts'
import type { Hosts } from '../receivers/start.ts'
import type { WindowReport } from '../receivers/tally.ts'
import { familiesOf, MB, memoryOf, nowUs, sleepUntil } from '../stack/machine.ts'
import { type Cost, type Line, type RunningLine, runAtRate, runClosed, startSluice } from '../system/rate.ts'
import { buildOutpost, COMMIT, startOutpost } from './outpost.ts'

const RATES = [300, 1_000]
const WARM_MS = 15_000
const MEASURE_MS = 30_000
const CONNECTIONS = 50
const TROUBLE = { perSecond: 1_000, bad: 4, behaviour: 'silent' } as const
const KILL = { perSecond: 300, afterMs: 10_000, forMs: 30_000, settledMs: 120_000 }
const ONE_HOST: Hosts = new Array<number>(ENDPOINTS).fill(0)

/** `isSplit`: with a process of its own for deliveries, so that it can be killed. */
type Options = { hosts?: Hosts; isSplit?: boolean }
type Contender = { name: string; start: (options?: Options) => Promise<RunningLine> }

/** @returns the section of RESULTS.md: Sluice and a peer under the same load, in turns. `minutes`: of each trouble. */
export async function bench({ rounds = 3, minutes = 1 } = {}): Promise<string> {
  const outpost = await buildOutpost()
  await using stack = await startStack()
  await warmUp(stack)
  const contenders: Contender[] = [
    { name: '**Sluice**', start: ({ hosts } = {}) => startWithRegistry(stack, hosts) },
    { name: 'Hookdeck Outpost', start: (options) => startOutpost(outpost, options) },
  ]
  const all: Result[][] = contenders.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, contender] of contenders.entries())
      all[index]?.push(await measure(contender, minutes * 60_000))
  return report(contenders.map(({ name }, index) => ({ name, rounds: all[index] ?? [] })))
}

/** Sluice's stores are Kafka and the schema registry. */
async function startWithRegistry(stack: Stack, hosts?: Hosts): Promise<RunningLine> {
  const line = await startSluice(stack, hosts)
  return { ...line, pids: { ...line.pids, stores: [stack.brokerPid, stack.registryPid] } }
}

type AtRate = { p50Ms: number; p99Ms: number; us: Cost; memory: Cost }
type Result = {
  rates: readonly AtRate[]
  closed: { delivered: number; us: Cost }
  hosts: WindowReport
  oneHost: WindowReport
  kill: Kill
}

/** Each on fresh processes and empty stores. */
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
  options: Options,
  run: (line: RunningLine) => Promise<T>,
): Promise<T> {
  await using line = await start(options)
  return await run(line)
}

async function memory({ pids: { own, stores } }: Line): Promise<Cost> {
  const of = async (pids: readonly number[]) => (await memoryOf(await familiesOf(pids))) / MB
  return { own: await of(own), stores: await of(stores) }
}

/** Some webhooks never answer, from the first call on. @returns the figures of the others. */
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

/** `lost`: accepted, but not delivered at the end. `again`: POSTs beyond one for each call. */
type Kill = { lost: number; again: number; pauseMs: number }

/** The processes that deliver are killed under load. */
async function runKill(line: RunningLine): Promise<Kill> {
  const { perSecond, afterMs, forMs, settledMs } = KILL
  const { load, windows } = await startCalls(line, {
    ...{ bad: 0, perSecond },
    ...{ healthyMs: afterMs, windowsMs: [forMs] },
  })
  const { fromUs = nowUs(), toUs = fromUs } = windows[0] ?? {}
  await sleepUntil(fromUs)
  await line.killDelivery()
  await sleepUntil(toUs)
  const { requests, errors } = await load.since()
  await load.stop()
  const count = () => line.endpoints.answered(ENDPOINTS)
  const until = nowUs() + settledMs * 1_000
  while (nowUs() < until && (await count()) < requests - errors) await sleepUntil(nowUs() + 1e6)
  await sleepUntil(nowUs() + 5e6) // what is sent twice may come later
  const { due, arrived, p99Ms } = await reportOf(line)
  const kill = { lost: due - arrived, again: (await count()) - (requests - errors), pauseMs: p99Ms }
  process.stderr.write(`${line.target}, killed: ${JSON.stringify(kill)}\n`)
  return kill
}

async function reportOf({ endpoints }: Line): Promise<WindowReport> {
  const [report] = (await endpoints.report()).windows
  if (!report) throw new Error('the endpoints sent no report')
  return report
}

type Measured = { name: string; rounds: readonly Result[] }

function report(all: readonly Measured[]): string {
  const cell = (rounds: readonly Result[], pick: (result: Result) => number, digits = 0) =>
    Number(median(rounds.map(pick)).toFixed(digits)).toLocaleString('en-US')
  const row = (name: string, each: (rounds: readonly Result[]) => string) => [
    name,
    ...all.map(({ rounds }) => each(rounds)),
  ]
  const share = ({ inTime, due }: WindowReport) => (inTime / due) * 100
  const cost = (rounds: readonly Result[], pick: (result: Result) => Cost | undefined) =>
    `${cell(rounds, (result) => pick(result)?.own ?? Number.NaN)} + ${cell(rounds, (result) => pick(result)?.stores ?? Number.NaN)}`
  const trouble = (rounds: readonly Result[], pick: (result: Result) => WindowReport) =>
    `${cell(rounds, (result) => share(pick(result)), 1)} %, ${cell(rounds, (result) => pick(result).p99Ms)}`
  const atRates = RATES.flatMap((perSecond, index) => {
    const at = `at ${perSecond.toLocaleString('en-US')}/s`
    const rate = (result: Result) => result.rates[index]
    return [
      row(`p50, p99 ms ${at}`, (rounds) =>
        [rate, rate]
          .map((of, which) => cell(rounds, (it) => of(it)?.[which ? 'p99Ms' : 'p50Ms'] ?? Number.NaN))
          .join(', '),
      ),
      row(`us of CPU per event ${at}, own + stores`, (rounds) => cost(rounds, (it) => rate(it)?.us)),
      row(`memory ${at} in MB, own + stores`, (rounds) => cost(rounds, (it) => rate(it)?.memory)),
    ]
  })
  const rows = [
    ...atRates,
    row(`events/s delivered, ${CONNECTIONS} connections`, (rounds) =>
      cell(rounds, (it) => it.closed.delivered),
    ),
    row('us of CPU per event, own + stores', (rounds) => cost(rounds, (it) => it.closed.us)),
    row('4 of 20 never answer: the others in time, p99 ms', (rounds) => trouble(rounds, (it) => it.hosts)),
    row('the same, all on one host', (rounds) => trouble(rounds, (it) => it.oneHost)),
    row('kill -9 under load: lost, sent twice, p99 ms', (rounds) =>
      [
        cell(rounds, (it) => it.kill.lost),
        cell(rounds, (it) => it.kill.again),
        cell(rounds, (it) => it.kill.pauseMs),
      ].join(', '),
    ),
  ]
  return `${explained(all[0]?.rounds.length ?? 0)}\n\n${markdownTable(['', ...all.map(({ name }) => name)], rows)}`
}

const explained = (rounds: number) =>
  `The same calls, receivers and machine for each, in turns, each measurement on fresh processes and empty stores. Calls of 1 KB,
one signed webhook each, ${ENDPOINTS} webhooks; load, system, stores and receivers share two cores. "Stores": Kafka and the schema
registry for Sluice; Redis, PostgreSQL and RabbitMQ for Outpost (commit ${COMMIT.slice(0, 12)}, 100 concurrent deliveries; its
default of 1 delivers less). All have the settings that they come with, one copy of everything, on one disk. "In trouble": ${TROUBLE.perSecond.toLocaleString('en-US')}
calls a second for a minute. "kill -9": at ${KILL.perSecond} calls a second, the processes that deliver are killed and started
again at once; Outpost runs its three services in separate processes there, and as one process elsewhere. "Lost": accepted, and
not delivered ${KILL.settledMs / 60_000} minutes later. Medians of ${rounds} rounds.`
