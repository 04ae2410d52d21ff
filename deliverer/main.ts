import { createPoster } from '../delivery/post/post.ts'
import { createWebhooks } from '../delivery/webhooks.ts'
import { createEgress, trustedRoots } from '../egress/egress.ts'
import { logShortage, watchStorage } from '../kafka/admin/storage.ts'
import { CLOSE_MS } from '../kafka/client.ts'
import { watchConsumers } from '../kafka/metrics.ts'
import { lossesOf } from '../kafka/produce/dropped.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { type CommonParts, type Context, close, openCommon, run } from '../lifecycle.ts'
import { createPausingClock } from '../process/pausing-clock.ts'
import { openCodec } from '../schemas/registry.ts'
import { ATTEMPTS } from '../schemas/topics.ts'
import { createAttemptLog, MAX_ATTEMPTS_BYTES } from './attempt-log.ts'
import { startConsumers } from './consumers.ts'
import { createDeliveryFailureLog } from './failure-log.ts'
import { watchLoad } from './lane/backpressure.ts'
import { createLane, type Lane, type LaneOptions } from './lane/lane.ts'
import {
  countAttempt,
  countCopy,
  countHeld,
  countSettled,
  countUnlogged,
  watchLanes,
  watchWebhooks,
} from './metrics.ts'
import { createDeliverer } from './run.ts'

const TICK_MS = 50
/** While no POST waits or runs. */
const IDLE_TICK_MS = 250

await run('deliverer', async (context) => {
  const { config, log, onFatal } = context
  const { ladder, windowMs } = config.delivery
  // first, so that a bad file ends the process before anything is opened
  const ca = trustedRoots(config.egress.caFile)
  let joined = false
  const common = await openCommon(context, () =>
    joined ? undefined : 'the consumer groups are not joined yet',
  )
  const attempts = await openAttempts(context, common)
  const poster = openPoster(context, ca)
  const webhooks = createWebhooks()
  const now = createPausingClock()
  const lanes = openLanes(context, { webhooks, now })
  const failureLog = createDeliveryFailureLog(log)
  webhooks.onChange(failureLog.ofBreaker)
  await common.settings.loaded

  const handle = createDeliverer({
    ...common,
    ...attempts,
    webhooks,
    now,
    poster,
    ladder: { ladder, windowMs },
    onFatal,
    onAttempt: (delivery, result) => {
      countAttempt(result)
      attempts.attemptLog.add(delivery, result)
    },
    onHeld(delivery) {
      countHeld()
      attempts.attemptLog.held(delivery)
    },
    onSettled: (settlement, delivery) => {
      countSettled(settlement)
      failureLog.ofDelivery(settlement, delivery)
    },
  })
  await startAll(context, { ...common, handle, lanes, storage: openStorage(context) })
  joined = true
  log.info('deliverer ready')
})

async function openAttempts({ connection, log, closing }: Context, { registry }: CommonParts) {
  const attempts = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  const attemptProducer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_ATTEMPTS_BYTES }),
    (open) => open.close(CLOSE_MS),
  )
  const losses = lossesOf(ATTEMPTS, { log, onLost: countUnlogged })
  const attemptLog = createAttemptLog({ producer: attemptProducer, codec: attempts, losses })
  // after the last POST, before the producer is closed
  closing.defer(attemptLog.flush)
  return { attempts, attemptProducer, attemptLog }
}

function openPoster({ config, log, closing }: Context, ca: string[] | undefined) {
  const egress = closing.adopt(createEgress({ ...config.egress, log }), close)
  const { responseTimeoutMs: limitMs, idleConnections: maxIdle } = config.delivery
  return closing.adopt(createPoster({ limitMs, egress, ca, maxIdle }), close)
}

function openLanes({ config, closing }: Context, { webhooks, now }: Pick<LaneOptions, 'webhooks' | 'now'>) {
  const { slots } = config.delivery
  const isBusy = watchLoad()
  const lane = () => createLane({ slots, webhooks, isBusy, now })
  const lanes = { first: lane(), retry: lane() }
  watchLanes(lanes, slots)
  watchWebhooks(webhooks)
  let ticking = setTimeout(tick, TICK_MS)
  function tick() {
    const all = Object.values(lanes)
    for (const each of all) each.tick()
    webhooks.forget(now())
    ticking = setTimeout(tick, all.every(isIdle) ? IDLE_TICK_MS : TICK_MS)
  }
  closing.defer(() => clearTimeout(ticking))
  return lanes
}

function openStorage({ config, connection, log, closing }: Context) {
  const onChange = logShortage(log, { during: 'retries wait', after: 'retries continue' })
  return closing.adopt(watchStorage({ connection, limits: config.storage, onChange }), close)
}

function isIdle(lane: Lane): boolean {
  const { waiting, prompt, late } = lane.count()
  return waiting + prompt + late === 0
}

type Starting = Pick<CommonParts, 'producer' | 'deliveries'> &
  Pick<Parameters<typeof startConsumers>[0], 'handle' | 'lanes' | 'storage'>

async function startAll(
  { connection, tracer, onFatal, closing }: Context,
  { deliveries: codec, ...parts }: Starting,
): Promise<void> {
  const onCopy = countCopy
  const consumers = await startConsumers({ ...parts, connection, codec, onCopy, tracer, onFatal })
  closing.defer(async () => void (await Promise.allSettled(consumers.map((consumer) => consumer.close()))))
  watchConsumers(consumers)
  await Promise.all(consumers.map((consumer) => consumer.joined))
}
