import type { Stack } from '../../harness/kafka/stack.ts'
import type { Launched } from '../../harness/launch.ts'
import { type PreparedSystem, startRole } from '../../harness/prepare.ts'
import { pathOf } from '../load/calls.ts'
import { ENDPOINTS, type Entry, startCalls } from '../load/scenario.ts'
import { startLoad } from '../load/start.ts'
import { type Hosts, startEndpoints } from '../receivers/start.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { startControl } from '../stack/control.ts'
import { forkScript } from '../stack/forked.ts'
import { familiesOf, machineSeconds, nowUs, secondsOf, sleepUntil } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'

/** `batch`: calls in each request, by default 1. */
export type Rate = { perSecond: number; batch?: number; warmMs: number; forMs: number }

/** The cost of the system's own processes, and of those that store its records. */
export type Cost = { own: number; stores: number }

/** A whole system that forwards calls. */
export type Line = Entry & {
  /** Their descendants count too. */
  pids: { own: readonly number[]; stores: readonly number[] }
}

export type RunningLine = Line & {
  /** Kills the processes that deliver, and starts them again. */
  killDelivery(): Promise<void>
} & AsyncDisposable

/** All four processes, on separate topics. */
export async function startSluice(stack: Stack, hosts: number | Hosts = ENDPOINTS): Promise<RunningLine> {
  await using closing = new AsyncDisposableStack()
  const pipeline = closing.use(await startPipeline(stack, hosts))
  const control = closing.adopt(await startControl(pipeline.system), async (it) => void (await it.kill()))
  const opened = closing.move()
  return {
    ...{ target: pipeline.target, url: pipeline.url, keys: pipeline.keys, endpoints: pipeline.endpoints },
    pids: { own: [...Object.values(pipeline.pids), control.pid], stores: [stack.brokerPid] },
    async killDelivery() {
      await Promise.all([
        replace(pipeline.system, pipeline.router, opened),
        replace(pipeline.system, pipeline.deliverer, opened),
      ])
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Keeps nothing (`bare-forwarder.ts`). */
export async function startBareForwarder(): Promise<Line & AsyncDisposable> {
  const endpoints = await startEndpoints(ENDPOINTS)
  const script = new URL('./bare-forwarder.ts', import.meta.url)
  const forwarder = forkScript(script, JSON.stringify(endpoints.urls))
  return {
    ...{ target: 'sluice', url: await forwarder.next<string>(), endpoints },
    keys: endpoints.urls.map((_, index) => String(index)),
    pids: { own: [forwarder.pid], stores: [] },
    async [Symbol.asyncDispose]() {
      await Promise.all([forwarder.stop(), endpoints.stop()])
    },
  }
}

/** Kills a process and starts it again on the same port, as a supervisor does. */
async function replace(
  system: PreparedSystem,
  killed: Launched,
  closing: AsyncDisposableStack,
): Promise<void> {
  const { role, url } = killed
  await killed.kill()
  const settings = { [`${role.toUpperCase()}_PORT`]: new URL(url).port }
  closing.adopt(await startRole(role, system, { settings }), async (it) => void (await it.kill()))
}

/** Without calls. `cores`: CPU time per time. */
export type Idle = { cores: Cost; idleShare: number }

export async function runIdle(
  { pids }: Pick<Line, 'pids'>,
  { warmMs, forMs }: Pick<Rate, 'warmMs' | 'forMs'>,
): Promise<Idle> {
  await sleepUntil(nowUs() + warmMs * 1_000)
  const used = await startClock(pids)
  await sleepUntil(nowUs() + forMs * 1_000)
  const { cost, idleShare } = await used()
  return {
    cores: { own: (cost.own * 1_000) / forMs, stores: (cost.stores * 1_000) / forMs },
    idleShare,
  }
}

/** `us`: microseconds of CPU per call. */
export type Run = WindowReport & { perSecond: number; errors: number; us: Cost; idleShare: number }

/** Calls at a fixed rate, however slow the answers (open loop). */
export async function runAtRate(line: Line, { perSecond, batch = 1, warmMs, forMs }: Rate): Promise<Run> {
  const { load, windows } = await startCalls(line, {
    ...{ bad: 0, perSecond, batch },
    ...{ healthyMs: warmMs, windowsMs: [forMs] },
  })
  const { fromUs = nowUs(), toUs = fromUs } = windows[0] ?? {}
  await sleepUntil(fromUs)
  await load.since()
  const used = await startClock(line.pids)
  await sleepUntil(toUs)
  const { cost, idleShare } = await used()
  const { errors } = await load.since()
  await load.stop()
  const run = {
    ...(await reportOf(line, toUs)),
    ...{ perSecond, errors, us: perCall(cost, (perSecond * forMs) / 1_000), idleShare },
  }
  process.stderr.write(`${line.target}, ${inShort(run)}, ${errors} errors\n`)
  return run
}

/** Sent as fast as they are answered. `us`: microseconds of CPU per delivery. */
export type Closed = { accepted: number; delivered: number; p50Ms: number; p99Ms: number; us: Cost }

/** One call in flight on each connection (closed loop). `accepted`, `delivered`: per second. */
export async function runClosed(
  line: Line,
  { connections, warmMs, forMs }: Pick<Rate, 'warmMs' | 'forMs'> & { connections: number },
): Promise<Closed> {
  const { target, url, access, keys, endpoints, pids } = line
  const fromUs = nowUs()
  const path = pathOf(target)
  const load = startLoad({ target, url, path, ...access, keys, batch: 1, connections, fromUs })
  await sleepUntil(nowUs() + warmMs * 1_000)
  const count = () => endpoints.answered(endpoints.urls.length)
  const [before, start] = [await count(), nowUs()]
  await load.since()
  const used = await startClock(pids)
  await sleepUntil(start + forMs * 1_000)
  const { requests, errors, p50Ms, p99Ms } = await load.since()
  const { cost } = await used()
  const [posts, seconds] = [(await count()) - before, (nowUs() - start) / 1e6]
  await load.stop()
  const closed = {
    ...{ accepted: (requests - errors) / seconds, delivered: posts / seconds },
    ...{ p50Ms, p99Ms, us: perCall(cost, posts) },
  }
  process.stderr.write(
    `${target}, ${connections} connections: ${closed.accepted.toFixed(0)}/s accepted, ${closed.delivered.toFixed(0)}/s delivered\n`,
  )
  return closed
}

async function reportOf({ endpoints }: Line, toUs: number): Promise<WindowReport> {
  await sleepUntil(toUs + GRACE_US)
  const [report] = (await endpoints.report()).windows
  if (!report) throw new Error('the endpoints sent no report')
  return report
}

/** @returns a function that returns the processes' CPU seconds and the machine's idle share since then */
async function startClock({ own, stores }: Line['pids']) {
  const spent = async (pids: readonly number[]) => secondsOf(await familiesOf(pids))
  const [machine, before] = [machineSeconds(), { own: await spent(own), stores: await spent(stores) }]
  return async (): Promise<{ cost: Cost; idleShare: number }> => {
    const now = machineSeconds()
    return {
      cost: { own: (await spent(own)) - before.own, stores: (await spent(stores)) - before.stores },
      idleShare: (now.idle - machine.idle) / (now.all - machine.all),
    }
  }
}

const perCall = ({ own, stores }: Cost, calls: number): Cost => ({
  own: (own * 1e6) / calls,
  stores: (stores * 1e6) / calls,
})

const inShort = ({ perSecond, due, inTime, p50Ms, p99Ms }: WindowReport & { perSecond: number }) =>
  `${perSecond}/s: ${((inTime / due) * 100).toFixed(1)} % in time, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`
