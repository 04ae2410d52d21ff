import type { FastifyInstance } from 'fastify'
import { openOffsets } from '../../kafka/admin/offsets.ts'
import type { Context } from '../../lifecycle.ts'
import type { Codec, SchemaName } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import { ATTEMPTS, DEAD, EVENTS, REJECTED } from '../../schemas/topics.ts'
import type { Settings } from '../../settings/follow.ts'
import { type AttemptRouteParts, type Attempts, attemptRoutes, followAttempts } from './attempts.ts'
import { followDead } from './dead/follow.ts'
import { type DeadRouteParts, deadRoutes } from './dead/routes.ts'
import { type EventRouteParts, eventRoutes } from './events/routes.ts'
import { openEventReading } from './events/search.ts'
import { decodeOrSkip, type Unreadable } from './following.ts'
import { createHealth } from './health/health.ts'
import { type HealthRouteParts, healthRoutes } from './health/routes.ts'
import { followIngestRate, type IngestRate, type IngestRouteParts, ingestRoutes } from './ingest-rate.ts'
import { followFaults } from './lag/log-faults.ts'
import { type LagRouteParts, lagRoutes } from './lag/routes.ts'
import { createLive, type Live, openFeed } from './live/live.ts'
import { type LiveRouteParts, liveRoutes } from './live/routes.ts'
import { countSkipped, countUnreadable, watchHeld, watchLive } from './metrics.ts'

type Parts = Pick<Context, 'config' | 'connection' | 'closing' | 'log' | 'onFatal' | 'onAway'> & {
  settings: Pick<Settings, 'sources' | 'destinations' | 'loaded'>
}

type Opened = Pick<
  ActivityParts,
  'attempts' | 'dead' | 'live' | 'events' | 'trace' | 'health' | 'ingestRate' | 'faults'
>

/** Starts reading Kafka for the read-only views; resolves once all readers have started. */
export async function openActivity(parts: Parts): Promise<Opened> {
  const { config, connection, closing, onFatal, settings } = parts
  const health = createHealth({ destinations: settings.destinations, now: Date.now })
  const { attempt, delivery, event, rejected } = await openDecoding(parts)
  const codecs = { event: event.codec, rejected: rejected.codec, attempt: attempt.codec }
  const [attempts, dead, faults, { events, trace, close: closeReading }] = await Promise.all([
    followAttempts({ ...attempt, connection, onRead: health.attempt, onFatal }),
    followDead({ ...delivery, connection, onRead: health.deadLetter, onFatal }),
    followFaults({ connection, onFatal, now: Date.now }),
    openEventReading({ connection, ladder: config.delivery, codecs, onFatal }),
  ])
  closing.adopt(attempts, close)
  closing.adopt(dead, close)
  closing.adopt(faults, close)
  closing.defer(closeReading)
  watchHeld({
    [ATTEMPTS]: () => attempts.recent.all().length,
    [DEAD]: () => dead.recent.all().length,
  })
  const live = openLive(parts, { attempts, event, rejected })
  const ingestRate = openIngestRate(parts)
  void Promise.all([settings.loaded, attempts.loaded]).then(
    () => health.begin(attempts.recent.all().map(({ attempt }) => attempt)),
    // unreadable settings end the process elsewhere
    () => undefined,
  )
  return { attempts, dead, faults, live, events, trace, health, ingestRate }
}

const close = (open: { close(): Promise<void> }) => open.close()

type Decoding<T> = { codec: Codec<T>; onUnreadable: (reason: Unreadable) => void }

async function openDecoding({ config, connection, onAway }: Parts) {
  const registry = openRegistry(config.registry, { onAway })
  const decoding = async <N extends SchemaName>(schema: N, topic: string) => ({
    codec: await openCodec(registry, schema, `${connection.named(topic)}-value`),
    onUnreadable: countUnreadable(topic),
  })
  const [attempt, delivery, event, rejected] = await Promise.all([
    decoding('attempt', ATTEMPTS),
    decoding('delivery', DEAD),
    decoding('event', EVENTS),
    decoding('rejected', REJECTED),
  ])
  return { attempt, delivery, event, rejected }
}

type LiveSources = { attempts: Attempts; event: Decoding<Event>; rejected: Decoding<Rejected> }

function openLive(
  { connection, closing, settings, log }: Parts,
  { attempts, event, rejected }: LiveSources,
): Live {
  const live = createLive({
    openFeed: (onFatal) =>
      openFeed({
        connection,
        sources: settings.sources,
        attemptsOf: attempts.ofMessage,
        onAttempt: attempts.onAttempt,
        decodeEvent: decodeOrSkip(event.codec, event.onUnreadable),
        decodeRejected: decodeOrSkip(rejected.codec, rejected.onUnreadable),
        onSkipped: countSkipped('rate'),
        onFatal,
      }),
    onSkipped: countSkipped('slow'),
    log,
  })
  watchLive(live)
  return closing.adopt(live, close)
}

function openIngestRate({ connection, closing }: Parts): IngestRate {
  const text = 'the rate of incoming calls cannot be measured'
  const ingestRate = followIngestRate({
    open: () => openOffsets(connection),
    onFailed: (err) => connection.failures.add({ kind: 'intake', text, err }),
  })
  return closing.adopt(ingestRate, close)
}

export type ActivityParts = AttemptRouteParts &
  DeadRouteParts &
  EventRouteParts &
  HealthRouteParts &
  IngestRouteParts &
  LiveRouteParts &
  LagRouteParts

export function activityRoutes(api: FastifyInstance, parts: ActivityParts): void {
  attemptRoutes(api, parts)
  deadRoutes(api, parts)
  eventRoutes(api, parts)
  healthRoutes(api, parts)
  ingestRoutes(api, parts)
  liveRoutes(api, parts)
  lagRoutes(api, parts)
}
