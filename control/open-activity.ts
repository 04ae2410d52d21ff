import { openOffsets } from '../kafka/offsets.ts'
import { openReader } from '../kafka/reader.ts'
import type { Context } from '../lifecycle.ts'
import type { SchemaName } from '../schemas/codec.ts'
import type { Settings } from '../schemas/follow.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { ATTEMPTS, DEAD, EVENTS, REJECTED } from '../schemas/topics.ts'
import type { ActivityParts } from './activity.ts'
import { followAttempts } from './attempts/follow.ts'
import { followDead } from './dead/follow.ts'
import { createEventSearch } from './events/search.ts'
import { openFeed } from './live/feed.ts'
import { createLive } from './live/live.ts'
import { countSkipped, countUnreadable, watchHeld, watchLive } from './metrics.ts'
import { decodeOrPass } from './newest/decode.ts'

type Parts = Pick<Context, 'config' | 'connection' | 'closing' | 'log' | 'onFatal'> & {
  settings: Pick<Settings, 'sources'>
}

/** Begins to read what goes on; resolves when that has begun. */
export async function openActivity(
  parts: Parts,
): Promise<Pick<ActivityParts, 'attempts' | 'dead' | 'live' | 'events'>> {
  const { config, connection, closing, log, onFatal, settings } = parts
  const registry = openRegistry(config.registry)
  const decoding = async <N extends SchemaName>(schema: N, topic: string) => ({
    codec: await openCodec(registry, schema, `${connection.named(topic)}-value`),
    onUnreadable: countUnreadable(topic),
  })
  const close = (open: { close(): Promise<void> }) => open.close()
  const reading = (topic: string) => openReader({ connection, topic, onFatal })
  const [attempts, dead, event, rejected, events, rejections] = await Promise.all([
    decoding('attempt', ATTEMPTS).then((read) => followAttempts({ ...read, connection, onFatal })),
    decoding('delivery', DEAD).then((read) => followDead({ ...read, connection, onFatal })),
    decoding('event', EVENTS),
    decoding('rejected', REJECTED),
    reading(EVENTS),
    reading(REJECTED),
  ])
  closing.adopt(attempts, close)
  closing.adopt(dead, close)
  closing.adopt(events, close)
  closing.adopt(rejections, close)
  const search = createEventSearch({
    openOffsets: () => openOffsets(connection),
    events: { reader: events, codec: event.codec },
    rejected: { reader: rejections, codec: rejected.codec },
  })
  const live = createLive({
    openFeed: (onFatal) =>
      openFeed({
        connection,
        sources: settings.sources,
        attempts: attempts.newest.all,
        onAttempt: attempts.onAttempt,
        decodeEvent: decodeOrPass(event.codec, event.onUnreadable),
        decodeRejected: decodeOrPass(rejected.codec, rejected.onUnreadable),
        onSkipped: countSkipped('rate'),
        onFatal,
      }),
    onSkipped: countSkipped('slow'),
    log,
  })
  closing.adopt(live, close)
  watchLive(live)
  watchHeld({
    [ATTEMPTS]: () => attempts.newest.all().length,
    [DEAD]: () => dead.newest.all().length,
  })
  return { attempts, dead, live, events: search }
}
