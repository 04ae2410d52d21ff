import type { Taken } from '../kafka/consume.ts'
import { park } from '../kafka/parked.ts'
import type { OutRecord, Producer } from '../kafka/produce.ts'
import type { Logger } from '../log.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settings } from '../schemas/follow.ts'
import { ATTEMPTS, DEAD, PARKED, rungTopic } from '../schemas/topics.ts'
import { type Ladder, type Next, next, type Posted } from './ladder.ts'
import { plan } from './plan.ts'
import type { Poster } from './post.ts'
import { postRound } from './round.ts'

export type DelivererParts = {
  settings: Pick<Settings, 'destination'>
  poster: Pick<Poster, 'post'>
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  attempts: Pick<Codec<Attempt>, 'encode'>
  ladder: Ladder
  log: Logger
  onPosted: (posted: Posted) => void
  /** An attempt is not in the log. */
  onUnlogged: () => void
  onSettled: (next: Next | { kind: 'cancelled' }, delivery: Delivery) => void
}

type Result = Next | { kind: 'cancelled' }

const MAX_QUEUED_BYTES = 16 * 1024 * 1024

/**
 * One attempt of a delivery: look up, post, decide, write what comes next, settle. Settled means delivered, cancelled, or
 * its next record acknowledged by Kafka (design: delivery, "Commit rule"); the attempt log decides nothing.
 * @returns what resolves when the POSTs are over and their slot is free.
 */
export function deliverer(parts: DelivererParts): (record: Taken<Delivery>) => Promise<void> {
  const { settings, poster, producer, ladder, log } = parts

  async function attempt(delivery: Delivery): Promise<Result> {
    const planned = plan(delivery, await settings.destination(delivery.destinationId))
    if (planned.kind === 'cancelled') {
      logAttempt(delivery, {
        urlIndex: null,
        startedAt: Date.now(),
        durationMs: 0,
        outcome: 'cancelled',
        status: null,
        code: planned.code,
        response: null,
      })
      return planned
    }
    const requests = planned.kind === 'post' ? planned.requests : []
    const posted = await postRound(requests, poster, (one) => {
      parts.onPosted(one)
      logAttempt(delivery, facts(one))
    })
    return next(delivery, posted, Date.now(), ladder)
  }

  function logAttempt(
    delivery: Delivery,
    what: Omit<Attempt, 'deliveryId' | 'messageId' | 'sourceId' | 'destinationId' | 'attempt'>,
  ): void {
    // it decides nothing, so it is what gives way when Kafka takes no writes
    if (producer.queuedBytes() > MAX_QUEUED_BYTES) {
      parts.onUnlogged()
      return
    }
    const { deliveryId, messageId, sourceId, destinationId } = delivery
    const value = parts.attempts.encode({
      deliveryId,
      messageId,
      sourceId,
      destinationId,
      attempt: delivery.attempt + 1,
      ...what,
    })
    void producer.produce([{ topic: ATTEMPTS, key: destinationId, value }])
  }

  /** Settles when Kafka has the next record, or has the delivery in `parked`; not written it is done again by whoever reads it next. */
  async function conclude(record: Taken<Delivery>, result: Result): Promise<void> {
    const following = nextRecord(record.key, result, parts.deliveries)
    const outcome = following ? await producer.produce([following]) : 'acked'
    if (outcome === 'unknown') return record.release()
    if (outcome !== 'acked') return putAside(record, `its next record cannot be written: ${outcome}`)
    parts.onSettled(result, record.value)
    record.settle()
  }

  /** A fault of ours, not of the receiver: the delivery is kept for those who mend it. */
  async function putAside(
    { topic, key, value, settle, release }: Taken<Delivery>,
    reason: string,
  ): Promise<void> {
    log.error(
      { deliveryId: value.deliveryId, topic, reason },
      'a delivery cannot go on; it is kept in topic parked',
    )
    const headers = { 'parked-topic': topic, 'parked-reason': reason }
    const outcome = await park(producer, {
      topic: PARKED,
      key,
      value: parts.deliveries.encode(value),
      headers,
    })
    if (outcome === 'acked') settle()
    else release()
  }

  return async (record) => {
    try {
      const result = await attempt(record.value)
      // writing what comes next takes no slot: Kafka may be slow where receivers are not
      conclude(record, result).catch((error) => putAside(record, String(error)))
    } catch (error) {
      await putAside(record, String(error))
    }
  }
}

function facts({ urlIndex, startedAt, durationMs, outcome, response }: Posted) {
  const status = 'status' in outcome ? (outcome.status ?? null) : null
  const code = 'code' in outcome ? outcome.code : null
  return { urlIndex, startedAt, durationMs, outcome: outcome.outcome, status, code, response }
}

function nextRecord(
  key: string,
  result: Next | { kind: 'cancelled' },
  codec: Pick<Codec<Delivery>, 'encode'>,
): OutRecord | undefined {
  if (result.kind === 'retry')
    return {
      topic: rungTopic(result.rung.name),
      key,
      value: codec.encode(result.delivery),
      headers: { dueAt: String(result.dueAt) },
    }
  if (result.kind === 'dead')
    return { topic: DEAD, key, value: codec.encode(result.delivery), headers: { reason: result.reason } }
  return undefined
}
