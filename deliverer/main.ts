import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { listTopics } from '../kafka/admin.ts'
import { consume } from '../kafka/consume.ts'
import { createProducer } from '../kafka/produce.ts'
import { probeUntilClosed, run } from '../lifecycle.ts'
import { serveOps } from '../metrics.ts'
import { followSettings } from '../schemas/follow.ts'
import { prepare } from '../schemas/prepare.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { ATTEMPTS, DELIVERIES, DUE, rungTopic } from '../schemas/topics.ts'
import { allowed } from './address.ts'
import { createLane } from './lane.ts'
import { countPost, countSettled, countUnlogged, watchLanes } from './metrics.ts'
import { createPoster } from './post.ts'
import { type DelivererParts, deliverer } from './run.ts'
import { bytes, rungs } from './rungs.ts'
import { tellOf } from './tell.ts'

/** Of each partition: enough to keep every slot busy, few enough to be young when they go. */
const HIGH_WATER = 400

await run('deliverer', async ({ config, log, connection, onFatal, closing }) => {
  const { ladder, windowMs, responseTimeoutMs, slots, egressAllow, egressCaFile } = config.delivery
  let joined = false
  const probe = probeUntilClosed(closing, () =>
    joined ? undefined : 'the consumer groups are not joined yet',
  )
  const ops = closing.adopt(await serveOps({ host: config.host, port: config.port, probe }), (open) =>
    open.close(),
  )
  log.info({ port: ops.port }, 'deliverer starting')

  await prepare(connection, config)
  const registry = openRegistry(config.registry)
  const deliveries = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const attempts = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, onFatal }),
    (open) => open.close(),
  )
  const producer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY }),
    (open) => open.close(),
  )
  const ca =
    egressCaFile === undefined ? undefined : [...rootCertificates, readFileSync(egressCaFile, 'utf8')]
  const poster = closing.adopt(
    createPoster({ timeoutMs: responseTimeoutMs, allow: allowed(egressAllow), ca }),
    (open) => open.close(),
  )
  await settings.loaded

  const parts: DelivererParts = {
    settings,
    poster,
    producer,
    deliveries,
    attempts,
    ladder: { ladder, windowMs },
    log,
    onPosted: countPost,
    onUnlogged: countUnlogged,
    onSettled: (next, delivery) => {
      countSettled(next)
      tellOf(next, delivery, log)
    },
  }
  const attempt = deliverer(parts)
  const first = createLane({ slots, attempt })
  const retry = createLane({ slots, attempt })
  watchLanes({ first, retry })

  // rungs that the ladder no longer has may still hold deliveries
  const rungTopics = (await listTopics(connection)).filter((name) => name.startsWith(rungTopic('')))
  const common = { connection, producer, onFatal, highWater: HIGH_WATER, maxBytesPerPartition: 128 * 1024 }
  const consumers = await Promise.all([
    consume({
      ...common,
      group: 'deliverer',
      topics: [DELIVERIES],
      codec: deliveries,
      handle: (record) => void first.add(record),
    }),
    consume({
      ...common,
      group: 'deliverer.due',
      topics: [DUE],
      codec: deliveries,
      handle: (record) => void retry.add(record),
    }),
    consume({
      ...common,
      group: 'deliverer.rungs',
      topics: rungTopics,
      codec: bytes,
      handle: rungs(producer),
      maxWaitMs: 100,
      maxBytesPerPartition: 32 * 1024,
    }),
  ])
  closing.defer(async () => void (await Promise.allSettled(consumers.map((consumer) => consumer.close()))))
  await Promise.all(consumers.map((consumer) => consumer.joined))
  joined = true
  log.info('deliverer ready')
})
