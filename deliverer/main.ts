import { createPoster } from '../delivery/post.ts'
import { createWebhooks } from '../delivery/webhooks.ts'
import { createEgress } from '../egress/egress.ts'
import { trustedRoots } from '../egress/roots.ts'
import { CLOSE_MS } from '../kafka/client.ts'
import { countAck, watchConsumers, watchProducer } from '../kafka/metrics.ts'
import { lossesOf } from '../kafka/produce/dropped.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { probeUntilClosed, run } from '../lifecycle.ts'
import { serveOps } from '../process/metrics.ts'
import { SCHEMA_WAIT_MS } from '../schemas/codec.ts'
import { prepare } from '../schemas/prepare.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { ATTEMPTS, DELIVERIES } from '../schemas/topics.ts'
import { followSettings, watchUnreadable } from '../settings/follow.ts'
import { createAttemptLog, MAX_ATTEMPTS_BYTES } from './attempt-log.ts'
import { startConsumers, watchLoad } from './consumers.ts'
import { createTeller } from './failure-log.ts'
import { createLane } from './lane/lane.ts'
import { countAttempt, countSettled, countUnlogged, watchLanes, watchWebhooks } from './metrics.ts'
import { createDeliverer } from './run.ts'

const TICK_MS = 50

await run('deliverer', async (context) => {
  const { config, log, connection, tracer, onFatal, onAway, closing } = context
  const { ladder, windowMs, responseTimeoutMs, slots } = config.delivery
  const ca = trustedRoots(config.egress.caFile)
  let joined = false
  const probe = probeUntilClosed(context, () =>
    joined ? undefined : 'the consumer groups are not joined yet',
  )
  const ops = closing.adopt(await serveOps({ host: config.host, port: config.port, probe }), (open) =>
    open.close(),
  )
  log.info({ port: ops.port }, 'deliverer starting')

  await prepare(connection, config, onAway)
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
  const deliveries = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const attempts = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, onFatal }),
    (open) => open.close(),
  )
  watchUnreadable(settings, ['source', 'destination'])
  const producer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY, onAck: countAck }),
    (open) => open.close(),
  )
  watchProducer(producer)
  const attemptProducer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_ATTEMPTS_BYTES }),
    (open) => open.close(CLOSE_MS),
  )
  const losses = lossesOf(ATTEMPTS, { log, onLost: countUnlogged })
  const attemptLog = createAttemptLog({ producer: attemptProducer, codec: attempts, losses })
  // behind the last POST, before the producer is closed
  closing.defer(attemptLog.flush)
  const egress = closing.adopt(createEgress({ ...config.egress, log }), (open) => open.close())
  const poster = closing.adopt(createPoster({ limitMs: responseTimeoutMs, egress, ca }), (open) =>
    open.close(),
  )
  const load = closing.adopt(watchLoad(), (open) => open.close())
  const webhooks = createWebhooks()
  const tell = createTeller(log)
  await settings.loaded

  const handle = createDeliverer({
    settings,
    webhooks,
    poster,
    producer,
    attemptProducer,
    deliveries,
    attempts,
    ladder: { ladder, windowMs },
    log,
    onFatal,
    onAttempt: (delivery, result) => {
      countAttempt(result)
      attemptLog.add(delivery, result)
    },
    onSettled: (result, delivery) => {
      countSettled(result)
      tell.ofDelivery(result, delivery)
    },
  })
  const lane = () => createLane({ slots, webhooks, isBusy: load.isBusy, now: () => performance.now() })
  const lanes = { first: lane(), retry: lane() }
  watchLanes(lanes, slots)
  watchWebhooks(webhooks)
  webhooks.onChange(tell.ofBreaker)
  const ticking = setInterval(() => {
    for (const lane of Object.values(lanes)) lane.tick()
    webhooks.forget(performance.now())
  }, TICK_MS)
  closing.defer(() => clearInterval(ticking))

  const consumers = await startConsumers({
    connection,
    producer,
    codec: deliveries,
    handle,
    lanes,
    tracer,
    onFatal,
  })
  closing.defer(async () => void (await Promise.allSettled(consumers.map((consumer) => consumer.close()))))
  watchConsumers(consumers)
  await Promise.all(consumers.map((consumer) => consumer.joined))
  joined = true
  log.info('deliverer ready')
})
