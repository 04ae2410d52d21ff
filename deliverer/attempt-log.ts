import type { OutRecord, Producer } from '../kafka/produce.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { ATTEMPTS } from '../schemas/topics.ts'
import type { Posted } from './ladder.ts'

export type AttemptLog = {
  posted(delivery: Delivery, posted: Posted): void
  cancelled(delivery: Delivery, code: string): void
}

const MAX_QUEUED_BYTES = 16 * 1024 * 1024

/** Topic `attempts`, a record per POST (design: delivery, "Attempt log"). It decides nothing, so it is what gives way when Kafka takes no writes. */
export function createAttemptLog({
  producer,
  codec,
  onUnlogged,
}: {
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  codec: Pick<Codec<Attempt>, 'encode'>
  /** So many attempts are not in the log. */
  onUnlogged: (attempts: number) => void
}): AttemptLog {
  let turn: OutRecord[] = []

  /** What ends in one turn of the event loop is written together. */
  function write(attempt: Attempt): void {
    if (producer.queuedBytes() > MAX_QUEUED_BYTES) {
      onUnlogged(1)
      return
    }
    if (turn.length === 0) setImmediate(flush)
    turn.push({ topic: ATTEMPTS, key: attempt.destinationId, value: codec.encode(attempt) })
  }

  function flush(): void {
    const records = turn
    turn = []
    void producer.produce(records).then((outcome) => {
      if (outcome !== 'acked') onUnlogged(records.length)
    })
  }

  return {
    posted: (delivery, { urlIndex, startedAt, durationMs, outcome, response }) =>
      write({
        ...idsOf(delivery),
        urlIndex,
        startedAt,
        durationMs,
        outcome: outcome.outcome,
        status: 'status' in outcome ? (outcome.status ?? null) : null,
        code: 'code' in outcome ? outcome.code : null,
        response,
      }),
    cancelled: (delivery, code) =>
      write({
        ...idsOf(delivery),
        urlIndex: null,
        startedAt: Date.now(),
        durationMs: 0,
        outcome: 'cancelled',
        status: null,
        code,
        response: null,
      }),
  }
}

const idsOf = ({ deliveryId, messageId, sourceId, destinationId, attempt }: Delivery) => ({
  deliveryId,
  messageId,
  sourceId,
  destinationId,
  attempt: attempt + 1,
})
