import { CLOSE_MS } from '../kafka/client.ts'
import { consume } from '../kafka/consume/consume.ts'
import { countAck, watchConsumers, watchProducer } from '../kafka/metrics.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { openReader } from '../kafka/tables/reader.ts'
import { probeUntilClosed, run } from '../lifecycle.ts'
import { serveOps } from '../process/metrics.ts'
import { SCHEMA_WAIT_MS } from '../schemas/codec.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { DELIVERIES, EVENTS, SEEN } from '../schemas/topics.ts'
import { followSettings, watchUnreadable } from '../settings/follow.ts'
import { ofEvent } from '../trace/describe.ts'
import { createDuplicates } from './duplicates/duplicates.ts'
import { duplicate, idsUnwritten, routed, watchDuplicates, watchSettings, windowLoaded } from './metrics.ts'
import { router } from './run.ts'

const MAX_SEEN_BYTES = 16 * 1024 * 1024

await run('router', async (context) => {
  const { config, log, connection, tracer, onFatal, onAway, closing } = context
  let ready: () => string | undefined = () => 'the consumer group is not joined yet'
  const probe = probeUntilClosed(context, () => ready())
  const ops = closing.adopt(await serveOps({ host: config.host, port: config.port, probe }), (open) =>
    open.close(),
  )
  log.info({ port: ops.port }, 'router starting')

  await prepareKafka(connection, config, onAway)
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
  const events = await openCodec(registry, 'event', `${connection.named(EVENTS)}-value`)
  const deliveries = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
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
  const seenProducer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_SEEN_BYTES }),
    (open) => open.close(CLOSE_MS),
  )
  const reader = closing.adopt(await openReader({ connection, topic: SEEN, onFatal }), (open) => open.close())
  const duplicates = closing.adopt(
    createDuplicates({
      reader,
      producer: seenProducer,
      onUnwritten: idsUnwritten,
      windowMs: config.dedupWindowMs,
      onLoad: windowLoaded,
      log,
      failures: connection.failures,
    }),
    (open) => open.forget(),
  )
  watchDuplicates(duplicates)
  // what is routed without the settings would be routed to nobody
  await settings.loaded
  watchSettings(settings)

  const handle = router({
    settings,
    codec: deliveries,
    producer,
    duplicates,
    onRouted: routed,
    onDuplicate: duplicate,
  })
  const consumer = closing.adopt(
    await consume({
      connection,
      group: 'router',
      topics: [EVENTS],
      codec: events,
      handle,
      producer,
      onFatal,
      watch: duplicates.watch,
      tracer,
      describe: ofEvent,
    }),
    (open) => open.close(),
  )
  watchConsumers([consumer])
  await consumer.joined
  ready = () => (settings.isFresh() ? undefined : 'the settings are behind their topic')
  log.info('router ready')
})
