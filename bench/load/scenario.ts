import type { Stack } from '../../harness/kafka/stack.ts'
import { countIn } from '../figures/summary.ts'
import type { Endpoints, EndpointsReport, Trouble } from '../receivers/start.ts'
import { GRACE_US, type Window } from '../receivers/tally.ts'
import { cpuSeconds, machineSeconds, nowUs, sleepUntil } from '../stack/machine.ts'
import { type Pipeline, startPipeline } from '../stack/pipeline.ts'
import { RUNGS, recordsWritten } from '../stack/topics.ts'
import { type Access, pathOf, type Target } from './calls.ts'
import { type Load, type LoadReport, startLoad } from './start.ts'

export const ENDPOINTS = 20
const CONNECTIONS = 64
/** There must be fewer connections than different batches. */
const BATCH_CONNECTIONS = 32
/** Time for the load generator to start. */
const START_US = 1e6

/** Calls at a fixed rate. All webhooks are healthy at first; then some are bad until the last window ends. */
export type Scenario = Trouble & {
  name: string
  perSecond: number
  healthyMs: number
  /** Consecutive windows, from when webhooks turn bad. */
  windowsMs: readonly number[]
  /** Calls in each request, by default 1. */
  batch?: number
}

/** `keys`: one for each endpoint. `endpoints`: where deliveries arrive. */
export type Entry = {
  target: Target
  url: string
  access?: Access
  keys: readonly string[]
  endpoints: Endpoints
}

/** Since some webhooks turned bad. */
export type ScenarioResult = EndpointsReport & {
  load: LoadReport
  /** The deliverer's CPU in us per call due, including calls for bad webhooks. */
  delivererUs: number
  /** Share of the machine's cores. Near 0 the machine was overloaded, and the figures mean nothing. */
  idleShare: number
  /** Records, failed or deferred. */
  toRungs: number
  /** POSTs whose connection was refused, including retries. */
  refused: number
}

/** On separate processes and topics. */
export async function runScenario(stack: Stack, scenario: Scenario): Promise<ScenarioResult> {
  await using pipeline = await startPipeline(stack, ENDPOINTS)
  const outcome = await beginScenario(pipeline, scenario)
  const result = await outcome()
  process.stderr.write(`${scenario.name}: ${summary(result)}\n`)
  return result
}

/** Leaves out Kafka's compilation. */
export const warmUp = (stack: Stack) =>
  runScenario(stack, {
    name: 'warm-up',
    bad: 4,
    behaviour: 'silent',
    perSecond: 1_000,
    healthyMs: 0,
    windowsMs: [15_000],
  })

/** Resolves when endpoints have turned bad. @returns a function that waits for the end of the windows */
export async function beginScenario(
  pipeline: Pipeline,
  scenario: Scenario,
): Promise<() => Promise<ScenarioResult>> {
  const { endpoints, pids } = pipeline
  const { load, windows } = await startCalls(pipeline, scenario)
  const troubleUs = windows[0]?.fromUs ?? nowUs()
  const endUs = windows.at(-1)?.toUs ?? troubleUs
  await sleepUntil(troubleUs)
  await endpoints.misbehave(scenario)
  const used = await startClock(pids.deliverer)

  return async () => {
    await sleepUntil(endUs)
    const { cpu, idleShare } = await used()
    const loaded = await load.since()
    await load.stop()
    await sleepUntil(endUs + GRACE_US)
    const report = await endpoints.report()
    const due = ((endUs - troubleUs) / 1e6) * scenario.perSecond
    return {
      ...report,
      load: loaded,
      delivererUs: (cpu / due) * 1e6,
      idleShare,
      ...(await outside(pipeline)),
    }
  }
}

/** Also gives the endpoints the schedule. */
export async function startCalls(
  { endpoints, target, url, access, keys }: Entry,
  { bad, perSecond, healthyMs, windowsMs, batch = 1 }: Omit<Scenario, 'name' | 'behaviour'>,
): Promise<{ load: Load; windows: readonly Window[] }> {
  const fromUs = nowUs() + START_US
  const windows = following(fromUs + healthyMs * 1_000, windowsMs)
  const seconds = ((windows.at(-1)?.toUs ?? fromUs) - fromUs) / 1e6
  const calls = Math.ceil(seconds * perSecond)
  await endpoints.expect({ fromUs, perSecond, batch, calls, endpoints: endpoints.urls.length, bad, windows })
  const load = startLoad({
    ...{ target, url, path: pathOf(target, batch), ...access, keys, batch },
    ...{ connections: batch === 1 ? CONNECTIONS : BATCH_CONNECTIONS, perSecond: perSecond / batch, fromUs },
  })
  return { load, windows }
}

function following(startUs: number, lengthsMs: readonly number[]): Window[] {
  let end = startUs
  return lengthsMs.map((length) => {
    const fromUs = end
    end += length * 1_000
    return { fromUs, toUs: end }
  })
}

/** @returns a function that returns the process's CPU seconds and the machine's idle share since then */
async function startClock(pid: number): Promise<() => Promise<{ cpu: number; idleShare: number }>> {
  const [cpu, machine] = [await cpuSeconds(pid), machineSeconds()]
  return async () => {
    const now = machineSeconds()
    const idleShare = (now.idle - machine.idle) / (now.all - machine.all)
    return { cpu: (await cpuSeconds(pid)) - cpu, idleShare }
  }
}

async function outside({
  system,
  deliverer,
}: Pipeline): Promise<Pick<ScenarioResult, 'toRungs' | 'refused'>> {
  const metrics = await deliverer.metrics()
  return {
    toRungs: await recordsWritten(system, RUNGS),
    refused: countIn(metrics, 'sluice_deliverer_posts_total', '"ECONNREFUSED"'),
  }
}

function summary({ windows, load, delivererUs, toRungs, idleShare }: ScenarioResult): string {
  const each = windows.map(
    ({ due, inTime, p50Ms, p99Ms }) =>
      `${((inTime / due) * 100).toFixed(1)} % of ${due} in time, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`,
  )
  return `${each.join('; ')}; accepted after ${load.p99Ms.toFixed(1)} ms (p99), ${load.errors} errors; ${delivererUs.toFixed(0)} us; ${toRungs} to rungs; machine ${(idleShare * 100).toFixed(0)} % idle`
}
