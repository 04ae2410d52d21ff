import { randomUUIDv7 } from 'node:crypto'
import { BACKLOG } from '../http/connections.ts'
import { serveOps } from '../http/probes.ts'
import { logShortage, watchStorage } from '../kafka/admin/storage.ts'
import { CLOSE_MS } from '../kafka/client.ts'
import { countAck, watchProducer, watchRooms } from '../kafka/metrics.ts'
import { lossesOf } from '../kafka/produce/dropped.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { close, probeUntilClosed, run } from '../lifecycle.ts'
import { registry } from '../process/metrics.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { openRegistry } from '../schemas/registry.ts'
import { REJECTED } from '../schemas/topics.ts'
import { followSettings, watchUnreadable } from '../settings/follow.ts'
import { createApp } from './http/app.ts'
import { createMeter } from './metrics.ts'
import { createPipeline, openEncoders } from './pipeline.ts'
import { notReady } from './readiness.ts'
import { createRejectionLog } from './rejection-log.ts'

/** Half a second of calls at full speed. Beyond it, an error is better than waiting. */
const MAX_QUEUED_BYTES = 32 * 1024 * 1024
const MAX_REJECTED_BYTES = 8 * 1024 * 1024
/** At a low rate, calls wait for up to this time to share a send; a lone caller does not (decision 030). */
const PACE = { ms: 10, fullAt: 16, onlyShared: true }

await run('ingest', async (context) => {
  const { config, log, connection, tracer, onFatal, onAway, closing } = context
  let ready: () => string | undefined = () => 'the schemas are not registered yet'
  const probe = probeUntilClosed(context, () => ready())
  closing.adopt(await serveOps({ host: config.host, port: config.metricsPort, probe }), close)
  await prepareKafka(connection, config, onAway)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, kinds: ['source', 'suppression'], onFatal }),
    close,
  )
  watchUnreadable(settings, ['source', 'suppression'])
  const meter = createMeter(registry)
  const producer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_QUEUED_BYTES, pace: PACE, onAck: countAck }),
    close,
  )
  watchProducer(producer)
  const rejectedProducer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_REJECTED_BYTES }),
    (it) => it.close(CLOSE_MS),
  )
  const losses = lossesOf(REJECTED, { log, onLost: meter.unlogged })
  const onChange = logShortage(log, {
    during: 'calls are refused (503 storage_full)',
    after: 'calls are accepted',
  })
  const storage = closing.adopt(watchStorage({ connection, limits: config.storage, onChange }), close)
  watchRooms(storage)
  let isListening = false
  ready = () => notReady(settings, producer, storage, isListening)
  const pipeline = createPipeline({
    sourceByWriteKey: (writeKey) =>
      settings.senderByWriteKey(writeKey, Date.now()) ??
      // an unknown key may then be an unreadable source's
      (settings.countUnreadable('source') > 0 ? 'unreadable' : undefined),
    suppressedUsers: settings.suppressedUsers,
    now: Date.now,
    clock: () => performance.now(),
    newId: randomUUIDv7,
    produce: producer.produce,
    unavailable: (sourceId) =>
      storage.shortage() ? 'storage_full' : producer.isFull(sourceId) ? 'unavailable' : undefined,
    logRejected: createRejectionLog({ producer: rejectedProducer, losses }),
    encoders: await openEncoders(openRegistry(config.registry, { onAway }), connection.named),
    meter,
    log,
  })
  const { trustProxy, host, port } = config
  const app = closing.adopt(createApp({ ...pipeline, meter, probe, log, tracer, trustProxy }), close)
  await settings.loaded // before that every write key is unknown
  const address = await app.listen({ host, port, backlog: BACKLOG })
  isListening = true
  log.info({ address }, 'ready')
})
