import { setTimeout as sleep } from 'node:timers/promises'
import type { Stack } from '../../harness/kafka/stack.ts'
import { startRole } from '../../harness/prepare.ts'
import { fillBacklog } from '../load/backlog.ts'
import { ENDPOINTS, startCalls } from '../load/scenario.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { measureUse, nowUs, sleepUntil, type Use } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'
import { RUNGS, recordsWritten } from '../stack/topics.ts'

export const AWAY = 4
const WARM_MS = 15_000
const BEFORE_MS = 30_000
/**
 * The bench watches nine tenths of an outage's length after its end. Deferred deliveries are due within a quarter of
 * it.
 */
const PARTS = 10
const LOOKED_AT = 9

/** Rates are per second. */
export type Drain = {
  /** Calls missing when draining begins. */
  backlog: number
  /** Still outstanding after these seconds: more than a second's arrivals if the backlog was not drained. */
  left: number
  seconds: number
  perSecond: number
  arrivalsPerSecond: number
  deliverer: Omit<Use, 'seconds'>
}

/** Counts calls to the recovered endpoints. */
export type Outage = Drain & {
  /** The other endpoints: in the 30 s before the outage, and in parts of the time of draining. */
  before: WindowReport
  meanwhile: readonly WindowReport[]
  toRungs: number
}

/** Some webhooks hang for a while, then recover. */
export async function drainOutage(
  stack: Stack,
  { outageMs, perSecond }: { outageMs: number; perSecond: number },
): Promise<Outage> {
  await using closing = new AsyncDisposableStack()
  const pipeline = closing.use(await startPipeline(stack, ENDPOINTS))
  const { endpoints, pids, system } = pipeline
  const partMs = outageMs / PARTS
  const { load, windows } = await startCalls(pipeline, {
    ...{ name: 'outage', bad: AWAY, behaviour: 'silent', perSecond, healthyMs: WARM_MS },
    windowsMs: [BEFORE_MS, outageMs, ...Array.from({ length: LOOKED_AT }, () => partMs)],
  })
  closing.defer(() => load.stop())
  const [, away] = windows
  if (!away) throw new Error('the scenario has no window for the outage')
  const untilUs = away.toUs + LOOKED_AT * partMs * 1_000
  const arrivalsPerSecond = (perSecond * AWAY) / ENDPOINTS
  await sleepUntil(away.fromUs)
  const begun = await endpoints.answered(AWAY)
  await endpoints.misbehave({ bad: AWAY, behaviour: 'silent' })
  await sleepUntil(away.toUs)
  await endpoints.misbehave({ bad: 0, behaviour: 'answers' })
  const drain = await measureDrain(pids.deliverer, {
    answered: async () => (await endpoints.answered(AWAY)) - begun,
    due: (atUs) => ((atUs - away.fromUs) / 1e6) * arrivalsPerSecond,
    ...{ arrivalsPerSecond, untilUs },
  })
  await sleepUntil(untilUs + GRACE_US)
  const [before, , ...after] = (await endpoints.report()).windows
  if (!before) throw new Error('the endpoints sent no report')
  const parts = Math.max(1, Math.ceil((drain.seconds * 1_000) / partMs))
  return {
    ...{ ...drain, before, meanwhile: after.slice(0, parts) },
    toRungs: await recordsWritten(system, RUNGS),
  }
}

/** The time limit for draining. */
const LONGEST_MS = 900_000

/** The deliverer restarts with a large backlog in `deliveries`. Calls keep coming. */
export async function drainRestart(
  stack: Stack,
  { backlog, perSecond }: { backlog: number; perSecond: number },
): Promise<Drain> {
  await using closing = new AsyncDisposableStack()
  const pipeline = closing.use(await startPipeline(stack, ENDPOINTS))
  const { endpoints, system } = pipeline
  const { load, windows } = await startCalls(pipeline, {
    ...{ name: 'restart', bad: 0, behaviour: 'answers', perSecond, healthyMs: WARM_MS },
    windowsMs: [LONGEST_MS],
  })
  closing.defer(() => load.stop())
  const awayUs = windows[0]?.fromUs ?? nowUs()
  await sleepUntil(awayUs)
  await pipeline.deliverer.kill()
  const before = await endpoints.answered(ENDPOINTS)
  const destinationIds = endpoints.urls.map((_, index) => `destination-${index}`)
  await fillBacklog(system, { destinationIds, deliveries: backlog })
  const again = closing.adopt(await startRole('deliverer', system), async (it) => void (await it.kill()))
  return await measureDrain(again.pid, {
    answered: async () => (await endpoints.answered(ENDPOINTS)) - before,
    due: (atUs) => backlog + ((atUs - awayUs) / 1e6) * perSecond,
    arrivalsPerSecond: perSecond,
    untilUs: nowUs() + LONGEST_MS * 1_000,
  })
}

type Backlog = {
  /** Requests answered so far. */
  answered(): Promise<number>
  /** Requests due by then. */
  due(atUs: number): number
  arrivalsPerSecond: number
  untilUs: number
}

async function measureDrain(deliverer: number, backlog: Backlog): Promise<Drain> {
  const { result, seconds, ...use } = await measureUse(deliverer, () => workOff(backlog))
  const { answered, ...drained } = result
  const { arrivalsPerSecond } = backlog
  return { ...drained, seconds, perSecond: answered / seconds, arrivalsPerSecond, deliverer: use }
}

const POLL_MS = 250
const TELLS_EVERY = 20

/**
 * Waits until at most a second's arrivals are outstanding, or time is over. @returns the number outstanding at first
 * and at the end, and answered in between
 */
async function workOff({ answered, due, arrivalsPerSecond, untilUs }: Backlog) {
  const first = await answered()
  const backlog = Math.round(due(nowUs()) - first)
  for (let polled = 0; ; polled++) {
    const now = await answered()
    const left = due(nowUs()) - now
    if (left <= arrivalsPerSecond || nowUs() >= untilUs)
      return { backlog, answered: now - first, left: Math.max(0, Math.round(left)) }
    if (polled % TELLS_EVERY === 0) process.stderr.write(`${Math.round(left)} calls are left\n`)
    await sleep(POLL_MS)
  }
}
