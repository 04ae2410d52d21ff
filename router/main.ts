import { CLOSE_MS } from '../kafka/client.ts'
import { consume } from '../kafka/consume/consume.ts'
import { watchConsumers } from '../kafka/metrics.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { openReader } from '../kafka/tables/reader.ts'
import { type CommonParts, type Context, close, openCommon, run } from '../lifecycle.ts'
import { createSlices } from '../process/slices.ts'
import { openCodec } from '../schemas/registry.ts'
import { EVENTS, SEEN } from '../schemas/topics.ts'
import { ofEvent } from '../trace/trace.ts'
import { createDuplicates, type Duplicates } from './duplicates/duplicates.ts'
import {
  duplicate,
  idsUnwritten,
  routed,
  ruleWatcher,
  watchDuplicates,
  watchSettings,
  windowLoaded,
} from './metrics.ts'
import { createRouter } from './run.ts'

const MAX_SEEN_BYTES = 16 * 1024 * 1024
/** Only commits wait for these records, so those of all partitions go in one send. */
const SEEN_PACE = { ms: 100, fullAt: 500 }
/** The largest share of an event's time at a low rate. It also sets how often the deliverer fetches (decision 030). */
const PACE_MS = 24
/** How long a paused partition may take to resume while the others are idle. */
const PAUSED_WAIT_MS = 100
const BEHIND = 'events are not routed: the settings are behind their topic'

await run('router', async (context) => {
  const { log } = context
  let ready: () => string | undefined = () => 'the consumer group is not joined yet'
  const common = await openCommon(context, () => ready())
  const duplicates = await openDuplicates(context)
  const { settings } = common
  // without the settings, events would be routed to no destination
  await settings.loaded
  watchSettings(settings)
  const consumer = await startConsumer(context, common, duplicates)
  await consumer.joined
  ready = () => (settings.isFresh() ? undefined : 'the settings are behind their topic')
  log.info('router ready')
})

async function openDuplicates({ config, log, connection, onFatal, closing }: Context): Promise<Duplicates> {
  const producer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: MAX_SEEN_BYTES, pace: SEEN_PACE }),
    (open) => open.close(CLOSE_MS),
  )
  const reader = closing.adopt(await openReader({ connection, topic: SEEN, onFatal }), close)
  const duplicates = closing.adopt(
    createDuplicates({
      reader,
      producer,
      onUnwritten: idsUnwritten,
      windowMs: config.dedupWindowMs,
      onLoad: windowLoaded,
      log,
      failures: connection.failures,
    }),
    (open) => open.forget(),
  )
  watchDuplicates(duplicates)
  return duplicates
}

async function startConsumer(
  { connection, tracer, log, onFatal, closing }: Context,
  { registry, deliveries, settings, producer }: CommonParts,
  duplicates: Duplicates,
) {
  const consumer = closing.adopt(
    await consume({
      connection,
      group: 'router',
      topics: [EVENTS],
      paceMs: PACE_MS,
      maxWaitMs: PAUSED_WAIT_MS,
      codec: await openCodec(registry, 'event', `${connection.named(EVENTS)}-value`),
      handle: createRouter({
        settings,
        codec: deliveries,
        producer,
        duplicates,
        slices: createSlices(),
        onBehind: () => connection.failures.add({ kind: BEHIND, text: BEHIND }),
        onRouted: routed,
        onRuled: ruleWatcher(log),
        onDuplicate: duplicate,
      }),
      producer,
      onFatal,
      watch: duplicates.watch,
      tracer,
      describe: ofEvent,
    }),
    close,
  )
  watchConsumers([consumer])
  return consumer
}
