import type { Stack } from '../../harness/kafka/stack.ts'
import { startRole } from '../../harness/prepare.ts'
import { type Used, used } from '../figures/used.ts'
import { fillBacklog } from '../load/backlog.ts'
import { nowUs, sleepUntil } from '../load/clock.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startCalls } from '../load/scenario-calls.ts'
import { startPipeline } from '../stack/pipeline.ts'
import { workOff } from './wait.ts'

const WARM_MS = 15_000
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
  deliverer: Omit<Used, 'seconds'>
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
  const { came, seconds, ...deliverer } = await used(again.pid, () =>
    workOff({
      answered: async () => (await endpoints.answered(ENDPOINTS)) - before,
      due: (atUs) => backlog + ((atUs - awayUs) / 1e6) * perSecond,
      arrivalsPerSecond: perSecond,
      untilUs: nowUs() + LONGEST_MS * 1_000,
    }),
  )
  return {
    ...{ backlog: came.backlog, left: came.left, seconds, perSecond: came.answered / seconds },
    ...{ arrivalsPerSecond: perSecond, deliverer },
  }
}
