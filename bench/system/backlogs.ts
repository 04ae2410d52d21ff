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
/** What comes after an outage is looked at in tenths of it, for nine tenths; what was put off is due within half of it. */
const PARTS = 10
const LOOKED_AT = 9

/** `backlog`: calls to the endpoints that were away which had not come when they were back. Rates are a second's, to them. */
export type Outage = {
  backlog: number
  /** Still outstanding at the end of these seconds: more than a second's arrivals where it was not worked off. */
  left: number
  seconds: number
  perSecond: number
  arrivalsPerSecond: number
  /** Of the other endpoints: in the 30 s before, and in parts of the time in which the backlog is worked off. */
  before: WindowReport
  meanwhile: readonly WindowReport[]
  deliverer: Omit<Use, 'seconds'>
  toRungs: number
}

/** Some endpoints do not answer for a while, and then do. */
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
  if (!away) throw new Error('no time was planned for the outage')
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
  if (!before) throw new Error('the endpoints have no report')
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

/** More than it can take. */
const LONGEST_MS = 900_000

/** `backlog`: calls that had not come when the deliverer was started again. Rates are a second's. */
export type Restart = {
  backlog: number
  /** Still outstanding at the end of these seconds: more than a second's arrivals where it was not worked off. */
  left: number
  seconds: number
  perSecond: number
  arrivalsPerSecond: number
  deliverer: Omit<Use, 'seconds'>
}

/** The deliverer is away, and much lies in `deliveries` when it comes back; calls go on coming meanwhile. */
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
  /** Requests that were answered so far. */
  answered(): Promise<number>
  /** Those that should have been answered by then. */
  due(atUs: number): number
  arrivalsPerSecond: number
  untilUs: number
}

const POLL_MS = 250
const TELLS_EVERY = 20

/**
 * Waits until no more is outstanding than comes in within a second, or the time is over. @returns what was outstanding at first and at
 * the end, and what was answered between.
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
