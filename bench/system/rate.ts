import type { Stack } from '../../harness/kafka/stack.ts'
import { ENDPOINTS, startCalls } from '../load/scenario.ts'
import { startLoad } from '../load/start.ts'
import type { Endpoints } from '../receivers/start.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { startControl } from '../stack/control.ts'
import { cpuSeconds, machineSeconds, nowUs, sleepUntil } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'

export type Rate = { perSecond: number; warmMs: number; forMs: number }

/** Results of calls at a rate. `us`: microseconds of CPU per call, of the four processes together and of Kafka. */
export type Run = WindowReport & {
  perSecond: number
  errors: number
  us: { sluice: number; kafka: number }
  idleShare: number
}

/** All four processes, on separate topics, with healthy webhooks. */
async function startAll(stack: Stack, closing: AsyncDisposableStack) {
  const pipeline = closing.use(await startPipeline(stack, ENDPOINTS))
  const control = closing.adopt(await startControl(pipeline.system), async (it) => void (await it.kill()))
  return { pipeline, pids: [...Object.values(pipeline.pids), control.pid] }
}

/** Without calls. `cores`: CPU time per time, of the four processes together and of Kafka. */
export type Idle = { cores: { sluice: number; kafka: number }; idleShare: number }

export async function runIdle(stack: Stack, { warmMs, forMs }: Omit<Rate, 'perSecond'>): Promise<Idle> {
  await using closing = new AsyncDisposableStack()
  const { pids } = await startAll(stack, closing)
  await sleepUntil(nowUs() + warmMs * 1_000)
  const before = await spent(pids, stack.brokerPid)
  await sleepUntil(nowUs() + forMs * 1_000)
  const after = await spent(pids, stack.brokerPid)
  const cores = (what: 'sluice' | 'kafka') => ((after[what] - before[what]) * 1_000) / forMs
  return { cores: { sluice: cores('sluice'), kafka: cores('kafka') }, idleShare: idleShareOf(before, after) }
}

/** At a rate of calls. */
export async function runThrough(stack: Stack, rate: Rate): Promise<Run> {
  await using closing = new AsyncDisposableStack()
  const { pipeline, pids } = await startAll(stack, closing)
  const { perSecond, warmMs, forMs } = rate
  const scenario = { name: `${perSecond}/s`, bad: 0, behaviour: 'answers', perSecond } as const
  const { load, windows } = await startCalls(pipeline, {
    ...scenario,
    ...{ healthyMs: warmMs, windowsMs: [forMs] },
  })
  const { fromUs = nowUs(), toUs = fromUs } = windows[0] ?? {}
  await sleepUntil(fromUs)
  await load.since()
  const before = await spent(pids, stack.brokerPid)
  await sleepUntil(toUs)
  const after = await spent(pids, stack.brokerPid)
  const { errors } = await load.since()
  await load.stop()
  const us = (what: 'sluice' | 'kafka') => ((after[what] - before[what]) * 1e9) / (perSecond * forMs)
  const run = {
    ...(await reportOf(pipeline.endpoints, toUs)),
    ...{ perSecond, errors, us: { sluice: us('sluice'), kafka: us('kafka') } },
    idleShare: idleShareOf(before, after),
  }
  process.stderr.write(`${inShort(run)}, ${errors} errors\n`)
  return run
}

/** The same calls at the same rate, sent straight to one webhook. */
export async function runStraight({ perSecond, warmMs, forMs }: Rate, endpoints: Endpoints) {
  const fromUs = nowUs() + 1e6
  const window = { fromUs: fromUs + warmMs * 1_000, toUs: fromUs + (warmMs + forMs) * 1_000 }
  const calls = Math.ceil(((warmMs + forMs) * perSecond) / 1_000)
  await endpoints.expect({ fromUs, perSecond, calls, endpoints: 1, bad: 0, windows: [window] })
  const load = startLoad({
    ...{ url: endpoints.urls[0] ?? '', path: '/', batch: 1, connections: 64 },
    ...{ writeKeys: ['none'], perSecond, fromUs, isStraight: true },
  })
  await sleepUntil(window.toUs)
  await load.stop()
  const report = await reportOf(endpoints, window.toUs)
  process.stderr.write(`straight: ${inShort({ ...report, perSecond })}\n`)
  return report
}

async function reportOf(endpoints: Endpoints, toUs: number): Promise<WindowReport> {
  await sleepUntil(toUs + GRACE_US)
  const [report] = (await endpoints.report()).windows
  if (!report) throw new Error('the endpoints sent no report')
  return report
}

async function spent(pids: readonly number[], brokerPid: number) {
  const each = await Promise.all(pids.map(cpuSeconds))
  const sluice = each.reduce((sum, seconds) => sum + seconds, 0)
  return { sluice, kafka: await cpuSeconds(brokerPid), ...machineSeconds() }
}

const idleShareOf = (before: Spent, after: Spent) => (after.idle - before.idle) / (after.all - before.all)

type Spent = Awaited<ReturnType<typeof spent>>

const inShort = ({ perSecond, due, inTime, p50Ms, p99Ms }: WindowReport & { perSecond: number }) =>
  `${perSecond}/s: ${((inTime / due) * 100).toFixed(1)} % in time, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`
