import type { Ladder } from '../../delivery/ladder.ts'
import { openOffsets } from '../../kafka/admin/offsets.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import { type Context, close } from '../../lifecycle.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Codec, SchemaName } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import { ATTEMPTS, DEAD, DELIVERIES, DUE, EVENTS, REJECTED } from '../../schemas/topics.ts'
import type { Settings } from '../../settings/follow.ts'
import { type Attempts, followAttempts } from './attempts.ts'
import { type DeadLetters, followDead } from './dead/follow.ts'
import { createDeliverySearch } from './deliveries/search.ts'
import { createEventSearch, createSearching } from './events/search.ts'
import { createTrace } from './events/trace.ts'
import { createFigures, type Figures } from './figures/figures.ts'
import { followIngestRate, type IngestRate } from './figures/ingest-rate.ts'
import { readBack } from './figures/read-back.ts'
import { createHealth, type Health } from './health/health.ts'
import { followFaults } from './lag/log-faults.ts'
import { openFeed } from './live/feed.ts'
import { createLive, type Live } from './live/live.ts'
import { countSkipped, countUnreadable, watchHeld, watchLive } from './metrics.ts'
import { createLatestEvents } from './preview/preview.ts'
import { decodeOrSkip, type Unreadable } from './records/following.ts'
import type { ActivityParts } from './routes.ts'

type Parts = Pick<Context, 'config' | 'connection' | 'closing' | 'log' | 'onFatal' | 'onAway'> & {
  settings: Pick<Settings, 'sources' | 'destinations' | 'loaded'>
}

type Opened = Pick<
  ActivityParts,
  | 'attempts'
  | 'dead'
  | 'deliveries'
  | 'live'
  | 'events'
  | 'latestEvents'
  | 'trace'
  | 'figures'
  | 'ingestRate'
  | 'faults'
  | 'openOffsets'
> & { health: Health }

/** Resolves once all readers have started. */
export async function openActivity(parts: Parts): Promise<Opened> {
  const { config, connection, closing, onFatal, settings } = parts
  const figures = createFigures(Date.now)
  const health = createHealth({ destinations: settings.destinations, figures, now: Date.now })
  const decoding = await openDecoding(parts)
  const [{ attempts, dead, faults }, { closeReaders, ...searches }] = await Promise.all([
    followTopics(parts, { decoding, figures, health }),
    openReading({ connection, delivery: config.delivery, decoding, onFatal }),
  ])
  closing.defer(closeReaders)
  const live = openLive(parts, { ...decoding, attempts })
  const ingestRate = openIngestRate(parts)
  const since = openReadBack(parts, { ...decoding, attempts, dead, figures })
  void Promise.all([settings.loaded, attempts.loaded]).then(
    () => health.begin(attempts.recent.all().map(({ attempt }) => attempt)),
    // unreadable settings end the process elsewhere
    () => undefined,
  )
  return {
    attempts,
    dead,
    faults,
    live,
    ...searches,
    health,
    figures: { ...figures, since },
    ingestRate,
    openOffsets: () => openOffsets(connection),
  }
}

type Decodings = Awaited<ReturnType<typeof openDecoding>>
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

type Following = { decoding: Decodings; figures: Figures; health: Pick<Health, 'attempt'> }

/** Keeps recent records of these topics in memory. */
async function followTopics(
  { connection, closing, onFatal }: Parts,
  { decoding: { attempt, delivery }, figures, health }: Following,
) {
  function onRead(read: Attempt): void {
    figures.attempt(read)
    health.attempt(read)
  }
  const [attempts, dead, faults] = await Promise.all([
    followAttempts({ ...attempt, connection, onRead, onFatal }),
    followDead({ ...delivery, connection, onRead: figures.deadLetter, onFatal }),
    followFaults({ connection, onFatal, now: Date.now }),
  ])
  for (const followed of [attempts, dead, faults]) closing.adopt(followed, close)
  watchHeld({
    [ATTEMPTS]: () => attempts.recent.all().length,
    [DEAD]: () => dead.recent.all().length,
  })
  return { attempts, dead, faults }
}

type Reading = Pick<Parts, 'connection' | 'onFatal'> & {
  delivery: Ladder & { responseTimeoutMs: number }
  decoding: Decodings
}

/** Readers of topics that are searched on demand. */
async function openReading({ connection, delivery, decoding, onFatal }: Reading) {
  const readerOf = (topic: string) => openReader({ connection, topic, onFatal })
  const readers = await Promise.all([
    readerOf(EVENTS),
    readerOf(REJECTED),
    readerOf(ATTEMPTS),
    readerOf(DELIVERIES),
    readerOf(DUE),
  ])
  const [events, rejected, attempts, deliveries, due] = readers
  const open = () => openOffsets(connection)
  const searching = createSearching(open)
  return {
    latestEvents: createLatestEvents(searching, { reader: events, codec: decoding.event.codec }),
    events: createEventSearch({
      searching,
      events: { reader: events, codec: decoding.event.codec },
      rejected: { reader: rejected, codec: decoding.rejected.codec },
    }),
    deliveries: createDeliverySearch({
      searching,
      openOffsets: open,
      codec: decoding.delivery.codec,
      deliveries,
      due,
    }),
    trace: createTrace({
      openOffsets: open,
      reader: attempts,
      codec: decoding.attempt.codec,
      ladder: delivery,
      responseTimeoutMs: delivery.responseTimeoutMs,
    }),
    closeReaders: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  }
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

type ReadBackParts = {
  attempts: Pick<Attempts, 'begun'>
  attempt: Decoding<Attempt>
  dead: Pick<DeadLetters, 'readSince'>
  figures: Pick<Figures, 'attempt'>
}

function openReadBack(
  { connection, closing, onFatal }: Parts,
  { attempts: { begun }, attempt, dead, figures }: ReadBackParts,
): () => number | null {
  const decode = decodeOrSkip(attempt.codec, attempt.onUnreadable)
  const text = 'the figures of the last day cannot be read'
  const reading = readBack({
    begun,
    async open() {
      const offsets = await openOffsets(connection)
      try {
        return { ...(await openReader({ connection, topic: ATTEMPTS, onFatal })), offsets }
      } catch (error) {
        await offsets.close()
        throw error
      }
    },
    onRecord: (value) => decode(value, (read) => figures.attempt(read, true)),
    onFailed: (err) => connection.failures.add({ kind: 'figures', text, err }),
    now: Date.now,
  })
  closing.adopt(reading, close)
  return () => {
    const known = [reading.since(), dead.readSince()].filter((time) => time !== null)
    return known.length > 0 ? Math.max(...known) : null
  }
}
