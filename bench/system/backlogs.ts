import { setTimeout as sleep } from 'node:timers/promises'
import type { Stack } from '../../harness/kafka/stack.ts'
import { startRole } from '../../harness/prepare.ts'
import { RUNGS, recordsWritten } from '../figures/counts.ts'
import { measureUse, type Use } from '../figures/resources.ts'
import { fillBacklog } from '../load/backlog.ts'
import { nowUs, sleepUntil } from '../load/clock.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startCalls } from '../load/scenario-calls.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { startPipeline } from '../stack/pipeline.ts'

export const AWAY = 4
const WARM_MS = 15_000
const BEFORE_MS = 30_000
/**
 * The time after an outage is divided into tenths; nine are observed. Deferred deliveries are due within half of it.
 */
const PARTS = 10
const LOOKED_AT = 9

/** `backlog`: calls still missing at the recovered endpoints. Rates are per second and to these endpoints. */
export type Outage = {
  backlog: number
  /** Still outstanding after these seconds. More than a second's arrivals if the backlog was not drained. */
  left: number
  seconds: number
  perSecond: number
  arrivalsPerSecond: number
  /** The other endpoints: in the 30 s before the outage, and in parts of the time of draining. */
  before: WindowReport
  meanwhile: readonly WindowReport[]
  deliverer: Omit<Use, 'seconds'>
  toRungs: number
}

/** Some endpoints hang for a while, then recover. */
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
  const { result, seconds, ...deliverer } = await measureUse(pids.deliverer, () =>
    workOff({
      answered: async () => (await endpoints.answered(AWAY)) - begun,
      due: (atUs) => ((atUs - away.fromUs) / 1e6) * arrivalsPerSecond,
      ...{ arrivalsPerSecond, untilUs },
    }),
  )
  await sleepUntil(untilUs + GRACE_US)
  const [before, , ...after] = (await endpoints.report()).windows
  if (!before) throw new Error('the endpoints sent no report')
  const parts = Math.max(1, Math.ceil((seconds * 1_000) / partMs))
  return {
    ...{
      backlog: result.backlog,
      left: result.left,
      seconds,
      perSecond: result.answered / seconds,
      arrivalsPerSecond,
    },
    ...{ before, meanwhile: after.slice(0, parts), deliverer },
    toRungs: await recordsWritten(system, RUNGS),
  }
}

/** Time limit for draining. */
const LONGEST_MS = 900_000

/** `backlog`: calls still missing when the deliverer restarts. Rates are per second. */
export type Restart = {
  backlog: number
  /** Still outstanding after these seconds. More than a second's arrivals if the backlog was not drained. */
  left: number
  seconds: number
  perSecond: number
  arrivalsPerSecond: number
  deliverer: Omit<Use, 'seconds'>
}

/** The deliverer is down, and finds a large backlog in `deliveries` when it restarts. Calls keep coming. */
export async function drainRestart(
  stack: Stack,
  { backlog, perSecond }: { backlog: number; perSecond: number },
): Promise<Restart> {
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
  const { result, seconds, ...deliverer } = await measureUse(again.pid, () =>
    workOff({
      answered: async () => (await endpoints.answered(ENDPOINTS)) - before,
      due: (atUs) => backlog + ((atUs - awayUs) / 1e6) * perSecond,
      arrivalsPerSecond: perSecond,
      untilUs: nowUs() + LONGEST_MS * 1_000,
    }),
  )
  return {
    ...{ backlog: result.backlog, left: result.left, seconds, perSecond: result.answered / seconds },
    ...{ arrivalsPerSecond: perSecond, deliverer },
  }
}

type Backlog = {
  /** Requests answered so far. */
  answered(): Promise<number>
  /** Requests due by then. */
  due(atUs: number): number
  arrivalsPerSecond: number
  untilUs: number
}

const POLL_MS = 250
const TELLS_EVERY = 20

/**
 * Waits until at most a second's arrivals are outstanding, or the time is over. @returns the number outstanding at
 * first and at the end, and the number answered in between.
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
