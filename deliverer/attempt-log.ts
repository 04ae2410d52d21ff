import type { AttemptResult } from '../delivery/ladder.ts'
import { recorded } from '../delivery/outcome.ts'
import { PAUSED } from '../delivery/targets.ts'
import { urlHash } from '../delivery/url-hash.ts'
import { createBatcher } from '../kafka/produce/batcher.ts'
import type { Losses } from '../kafka/produce/dropped.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { ATTEMPTS } from '../schemas/topics.ts'

export type LoggedResult = AttemptResult & { settles: boolean }

export type AttemptLog = {
  add(delivery: Delivery, result: LoggedResult): void
  /** Logs that the delivery is on hold, as its destination is paused. */
  held(delivery: Delivery): void
  /** Writes what waits. Call it before the producer is closed. */
  flush(): void
}

const MAX_QUEUED_BYTES = 16 * 1024 * 1024
/** Losses are over once the queue is this short, not at the first write: a queue near its limit soon drops again. */
const RESUMED_BYTES = MAX_QUEUED_BYTES / 2
/** Leaves room for cancellations, which must not be dropped. */
export const MAX_ATTEMPTS_BYTES = 2 * MAX_QUEUED_BYTES
/** For Kafka, a batch of hundreds costs as much as one record. */
const BATCH = { maxItems: 500, lingerMs: 100 }

/**
 * One record for each POST (docs/reference/codes.md, "Outcomes of a POST"). No delivery depends on these records, so
 * they are dropped and counted while Kafka accepts no writes.
 * @param producer only for topic `attempts`, which may block it.
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
  const batcher = createBatcher<OutRecord>(BATCH, (records) => {
    void producer.produce(records).then((outcome) => {
      if (outcome !== 'acked') losses.lost(records.length)
      else if (producer.queuedBytes() <= RESUMED_BYTES) losses.written()
    })
  })

  function write(attempt: Attempt): void {
    if (producer.queuedBytes() > MAX_QUEUED_BYTES) losses.lost(1)
    else batcher.add({ topic: ATTEMPTS, key: attempt.destinationId, value: codec.encode(attempt) })
  }

  return {
    flush: batcher.flush,
    add: (delivery, { urlIndex, url, startedAt, durationMs, outcome, response, settles }) =>
      write({
        ...idsOf(delivery),
        urlIndex,
        startedAt,
        durationMs,
        ...recorded(outcome),
        response,
        urlHash: urlHash(url),
        settles,
      }),
    held: (delivery) => write(unsent(delivery, { outcome: 'deferred', code: PAUSED, now: Date.now() })),
  }
}

/** The only record of a cancelled delivery (settle.ts). */
export const cancelled = (
  delivery: Delivery,
  { code, codec, now }: { code: string; codec: Pick<Codec<Attempt>, 'encode'>; now: number },
): OutRecord => ({
  topic: ATTEMPTS,
  key: delivery.destinationId,
  value: codec.encode(unsent(delivery, { outcome: 'cancelled', code, now })),
})

type Unsent = Pick<Attempt, 'outcome' | 'code'> & { now: number }

/** The record of a delivery that was sent to no webhook. */
const unsent = (delivery: Delivery, { outcome, code, now }: Unsent): Attempt => ({
  ...idsOf(delivery),
  urlIndex: null,
  startedAt: now,
  durationMs: 0,
  outcome,
  status: null,
  code,
  response: null,
  urlHash: null,
  settles: false,
})

/** The largest `int` of Avro. Records that other programs write may have it already. */
const MAX_INT = 2 ** 31 - 1

const idsOf = ({ deliveryId, messageId, sourceId, destinationId, attempt, acceptedAt }: Delivery) => ({
  deliveryId,
  messageId,
  sourceId,
  destinationId,
  attempt: Math.min(attempt + 1, MAX_INT),
  acceptedAt,
})
