import type { Posted } from '../delivery/ladder.ts'
import { recorded } from '../delivery/outcome.ts'
import type { Losses } from '../kafka/produce/dropped.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { ATTEMPTS } from '../schemas/topics.ts'

/** Hands items over many at a time: when so many are there, or the first of them has waited for so long. */
export function gather<T>(
  { mostItems, lingerMs }: GatherOptions,
  handOver: (items: readonly T[]) => void,
): Gathered<T> {
  let items: T[] = []
  let flushing: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(flushing)
    flushing = undefined
    const gathered = items
    items = []
    if (gathered.length > 0) handOver(gathered)
  }

  return {
    flush,
    add(item) {
      items.push(item)
      if (items.length >= mostItems) flush()
      else flushing ??= setTimeout(flush, lingerMs)
    },
  }
}

export type AttemptLog = {
  posted(delivery: Delivery, posted: Posted): void
  /** Writes what waits; to be called before the producer is closed. */
  flush(): void
}

const MAX_QUEUED_BYTES = 16 * 1024 * 1024
/** Of the producer of this topic: room for deliveries that are cancelled, which are not dropped. */
export const MAX_ATTEMPTS_BYTES = 2 * MAX_QUEUED_BYTES
/** Nobody waits for it, and Kafka has as much to do with one record as with hundreds. */
const TOGETHER = { mostItems: 500, lingerMs: 100 }

/**
 * Topic `attempts`, a record per POST (docs/reference/codes.md, "Outcomes of a POST"). It decides nothing, so it gives way when Kafka takes no writes.
 * @param producer is only for this topic: one that takes no writes stops what is sent with it.
 */
export function createAttemptLog({
  producer,
  codec,
  losses,
}: {
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  codec: Pick<Codec<Attempt>, 'encode'>
  losses: Losses
}): AttemptLog {
  const gathered = gather<OutRecord>(TOGETHER, (records) => {
    void producer.produce(records).then((outcome) => {
      if (outcome === 'acked') losses.written()
      else losses.lost(records.length)
    })
  })

  function write(attempt: Attempt): void {
    if (producer.queuedBytes() > MAX_QUEUED_BYTES) losses.lost(1)
    else gathered.add({ topic: ATTEMPTS, key: attempt.destinationId, value: codec.encode(attempt) })
  }

  return {
    flush: gathered.flush,
    posted: (delivery, { urlIndex, startedAt, durationMs, outcome, response }) =>
      write({
        ...idsOf(delivery),
        urlIndex,
        startedAt,
        durationMs,
        ...recorded(outcome),
        response,
      }),
  }
}

/** The only record that says of a delivery that it was cancelled: it is not settled before Kafka has this (`settle.ts`). */
export const cancelled = (
  delivery: Delivery,
  { code, codec, now }: { code: string; codec: Pick<Codec<Attempt>, 'encode'>; now: number },
): OutRecord => ({
  topic: ATTEMPTS,
  key: delivery.destinationId,
  value: codec.encode({
    ...idsOf(delivery),
    urlIndex: null,
    startedAt: now,
    durationMs: 0,
    outcome: 'cancelled',
    status: null,
    code,
    response: null,
  }),
})

const idsOf = ({ deliveryId, messageId, sourceId, destinationId, attempt }: Delivery) => ({
  deliveryId,
  messageId,
  sourceId,
  destinationId,
  attempt: attempt + 1,
})

export type Gathered<T> = {
  add(item: T): void
  /** Hands over what is there now. */
  flush(): void
}

export type GatherOptions = { mostItems: number; lingerMs: number }
