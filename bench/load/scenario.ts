import type { Stack } from '../../harness/kafka/stack.ts'
import { countIn, RUNGS, recordsWritten } from '../figures/counts.ts'
import { type ScenarioResult, summary } from '../figures/scenario-result.ts'
import { GRACE_US } from '../receivers/tally.ts'
import { type Pipeline, startPipeline } from '../stack/pipeline.ts'
import { cpuSeconds, machineSeconds } from '../stack/process.ts'
import { nowUs, sleepUntil } from './clock.ts'
import { type Scenario, startCalls } from './scenario-calls.ts'

export const ENDPOINTS = 20

/** Runs a whole scenario on separate processes and topics. */
export async function runScenario(stack: Stack, scenario: Scenario): Promise<ScenarioResult> {
  await using pipeline = await startPipeline(stack, ENDPOINTS)
  const outcome = await beginScenario(pipeline, scenario)
  const result = await outcome()
  process.stderr.write(`${scenario.name}: ${summary(result)}\n`)
  return result
}

/** Leaves Kafka's compilation out of the figures. */
export const warmUp = (stack: Stack) =>
  runScenario(stack, {
    name: 'warm-up',
    bad: 4,
    behaviour: 'silent',
    perSecond: 1_000,
    healthyMs: 0,
    windowsMs: [15_000],
  })

/** Resolves when the endpoints have turned bad. @returns a function that waits for the end of the windows. */
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

/** @returns a function that returns the process's CPU seconds and the machine's idle share since then. */
async function startClock(pid: number): Promise<() => Promise<{ cpu: number; idleShare: number }>> {
  const [cpu, machine] = [await cpuSeconds(pid), machineSeconds()]
  return async () => {
    const now = machineSeconds()
    const idleShare = (now.idle - machine.idle) / (now.all - machine.all)
    return { cpu: (await cpuSeconds(pid)) - cpu, idleShare }
  }
}
