import { countAck, watchProducer } from '../kafka/metrics.ts'
import { createProducer, type Producer } from '../kafka/produce/produce.ts'
import { type Context, probeUntilClosed } from '../lifecycle.ts'
import { type Probe, serveOps } from '../process/metrics.ts'
import { SCHEMA_WAIT_MS, type VariantCodec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { openCodec, openRegistry, type Registry } from '../schemas/registry.ts'
import { DELIVERIES } from '../schemas/topics.ts'
import { followSettings, type Settings, watchUnreadable } from '../settings/follow.ts'

export type CommonParts = {
  registry: Registry
  deliveries: VariantCodec<Delivery>
  settings: Settings
  /** Its queue has no limit: both processes hold their partitions instead. */
  producer: Producer
}

/** Opens what router and deliverer share. Starts with the port for probes and metrics. */
export async function openCommon(context: Context, notReady: Probe['notReady']): Promise<CommonParts> {
  const { config, log, connection, onFatal, onAway, closing } = context
  const probe = probeUntilClosed(context, notReady)
  const ops = closing.adopt(await serveOps({ host: config.host, port: config.port, probe }), (open) =>
    open.close(),
  )
  log.info({ port: ops.port }, `${config.role} starting`)
  await prepareKafka(connection, config, onAway)
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
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
  return { registry, deliveries, settings, producer }
}
