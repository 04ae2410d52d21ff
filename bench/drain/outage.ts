import type { Stack } from '../../harness/kafka/stack.ts'
import { RUNGS, recordsWritten } from '../figures/outside.ts'
import { type Used, used } from '../figures/used.ts'
import { sleepUntil } from '../load/clock.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startCalls } from '../load/scenario-calls.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { startPipeline } from '../stack/pipeline.ts'
import { workOff } from './wait.ts'

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
  deliverer: Omit<Used, 'seconds'>
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
  await endpoints.turn({ bad: AWAY, behaviour: 'silent' })
  await sleepUntil(away.toUs)
  await endpoints.turn({ bad: 0, behaviour: 'answers' })
  const { came, seconds, ...deliverer } = await used(pids.deliverer, () =>
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
      backlog: came.backlog,
      left: came.left,
      seconds,
      perSecond: came.answered / seconds,
      arrivalsPerSecond,
    },
    ...{ before, meanwhile: after.slice(0, parts), deliverer },
    toRungs: await recordsWritten(system, RUNGS),
  }
}
