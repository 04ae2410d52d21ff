import type { Taken } from '../kafka/consume.ts'
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
  producer: Pick<Producer, 'produce'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  attempts: Pick<Codec<Attempt>, 'encode'>
  ladder: Ladder
  log: Logger
  onPosted: (posted: Posted) => void
  onSettled: (next: Next | { kind: 'cancelled' }, delivery: Delivery) => void
}

/**
 * One attempt of a delivery: look up, post, decide, write what comes next, settle. Settled means delivered, cancelled, or
 * its next record acknowledged by Kafka (design: delivery, "Commit rule"); the attempt log decides nothing.
 */
export function deliverer(parts: DelivererParts): (record: Taken<Delivery>) => Promise<void> {
  const { settings, poster, producer, ladder, log } = parts

  async function attempt(delivery: Delivery): Promise<Next | { kind: 'cancelled' }> {
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

  /** @returns whether Kafka has it, there or in `parked`. */
  async function write(record: Taken<Delivery>, following: OutRecord): Promise<boolean> {
    const outcome = await producer.produce([following])
    if (outcome === 'acked' || outcome === 'unknown') return outcome === 'acked'
    return (
      (await producer.produce([parkedDelivery(record, `its next record cannot be written: ${outcome}`)])) ===
      'acked'
    )
  }

  /** A fault of ours, not of the receiver: the delivery is kept for those who mend it. */
  async function park(record: Taken<Delivery>, reason: string): Promise<void> {
    const outcome = await producer.produce([parkedDelivery(record, reason)])
    if (outcome === 'acked') record.settle()
    else record.release()
  }

  function parkedDelivery({ topic, key, value }: Taken<Delivery>, reason: string): OutRecord {
    log.error(
      { deliveryId: value.deliveryId, topic, reason },
      'a delivery cannot go on; it is kept in topic parked',
    )
    return {
      topic: PARKED,
      key,
      value: parts.deliveries.encode(value),
      headers: { 'parked-topic': topic, 'parked-reason': reason },
    }
  }

  async function carry(record: Taken<Delivery>): Promise<void> {
    const result = await attempt(record.value)
    const following = nextRecord(record.key, result, parts.deliveries)
    // not written only at the end of the process: whoever reads it next does it again
    if (following && !(await write(record, following))) return record.release()
    parts.onSettled(result, record.value)
    record.settle()
  }

  return (record) => carry(record).catch((error) => park(record, String(error)))
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
