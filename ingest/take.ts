import type { Produced } from '../kafka/produce/pending.ts'
import type { OutRecord, Producer } from '../kafka/produce/produce.ts'
import type { Logger } from '../process/log.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Event } from '../schemas/event.ts'
import { eventRecord } from '../schemas/event-record.ts'
import { openCodec, type Registry } from '../schemas/registry.ts'
import type { Rejected } from '../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../schemas/topics.ts'
import type { Trace } from '../trace/trace.ts'
import { type Answer, errorAnswer, retryAfter } from './answer.ts'
import { type Judgement, judge, type Known, refuse } from './call/judge.ts'
import {
  callsIn,
  type Received,
  type RouteType,
  readSender,
  type SourceByWriteKey,
  senderOf,
} from './call/sender.ts'
import type { Meter, Upshot } from './metrics.ts'
import type { RejectionLog } from './rejections.ts'
import type { SourceLimit } from './throttle.ts'
import { createThrottle, type Strangers, tooFast } from './throttle.ts'

/** Past it Kafka's answer is unknown and the client had better send again; the router drops what is then there twice. */
const DEADLINE_MS = 10_000

export type TakeOptions = {
  sourceByWriteKey: SourceByWriteKey
  suppressedUsers: (sourceId: string) => Known['suppressed']
  newId: Known['newId']
  /** Milliseconds since 1970. */
  now: () => number
  /** Milliseconds that never go back. */
  clock: () => number
  produce: Producer['produce']
  /** Why nothing is taken now, whoever sends it. */
  turnsAway: () => 'unavailable' | 'storage_full' | undefined
  strangers: Strangers
  logRejected: RejectionLog
  encoders: Encoders
  meter: Pick<Meter, 'count'>
  log: Pick<Logger, 'error'>
}

/** What is taken belongs to `trace`, where there is one. */
export type Take = (received: Received, ip: string, trace?: TakeTrace) => Promise<Answer>
type TakeTrace = Pick<Trace, 'send' | 'note'> | undefined

/**
 * Says why a request is refused before its body is worked on, and counts it; undefined when it is not. To be asked before the body is read when
 * its write key is known, else when it has been read.
 */
export type Forestall = (request: Omit<Received, 'body'>, ip: string) => Answer | undefined

/** Takes a request: judges it, writes its events to Kafka as one group, and answers when all of them are acknowledged. */
export function createTake(options: TakeOptions): { take: Take; forestall: Forestall } {
  const { produce, turnsAway, logRejected, encoders, meter, log, strangers, sourceByWriteKey } = options
  const throttle = createThrottle(options.clock)

  function decide(received: Received, ip: string): { judgement: Judgement; limit: SourceLimit | undefined } {
    const sent = readSender(received, sourceByWriteKey)
    if ('refused' in sent) {
      if (received.writeKey === undefined) strangers.refused(ip, received.body.length)
      return { judgement: refuse(sent.refused, sent.sourceId), limit: undefined }
    }
    const { id, rateLimit: limit } = sent.source
    const retryAfter = limit && throttle.draw(limit, callsIn(sent))
    if (retryAfter)
      return { judgement: refuse('rate_limited', id, tooFast(limit, retryAfter)), limit: undefined }
    const { newId, now, suppressedUsers } = options
    return {
      judgement: judge(sent, { receivedAt: now(), ip, newId, suppressed: suppressedUsers(id) }),
      limit,
    }
  }

  async function conclude(
    type: RouteType,
    upshot: Upshot,
    { producing, logging }: { producing: Promise<Produced>; logging: Promise<void> },
  ): Promise<Answer> {
    const produced = await producing
    await logging
    const answer = answerTo(produced, upshot.answer, type)
    meter.count(type, upshot, answer.code)
    if (produced === 'too_large' || produced === 'refused')
      log.error(
        { sourceId: upshot.sourceId, code: produced },
        'Kafka takes no records of this size: is max.message.bytes below 1 MB?',
      )
    return answer
  }

  function forestall({ type, writeKey }: Omit<Received, 'body'>, ip: string): Answer | undefined {
    // nothing would come of what is spent on it, nor of what is drawn from its source's limit
    const why = turnsAway()
    if (why) return refused(type, refuse(why, undefined))
    if (writeKey !== undefined) {
      const sender = senderOf(writeKey, sourceByWriteKey)
      return 'refused' in sender ? refused(type, refuse(sender.refused, sender.sourceId)) : undefined
    }
    const wait = strangers.wait(ip)
    if (wait === undefined) return undefined
    return refused(
      type,
      refuse('too_many_attempts', undefined, errorAnswer('too_many_attempts', retryAfter(wait))),
    )
  }

  function refused(type: RouteType, judgement: Judgement): Answer {
    const { answer } = judgement
    meter.count(type, upshotOf(judgement), answer.code)
    return answer
  }

  return {
    forestall,
    // while it waits for Kafka a request holds its records alone, not what they were made of
    take(received, ip, trace) {
      const why = turnsAway()
      if (why) return Promise.resolve(refused(received.type, refuse(why, undefined)))
      const { judgement, limit } = decide(received, ip)
      if (judgement.sourceId) trace?.note({ 'sluice.source.id': judgement.sourceId })
      const { events, rejected } = recordsOf(judgement, encoders)
      if (limit?.bytesPerSecond !== undefined) throttle.spend(limit, bytesOf(events) + bytesOf(rejected))
      const writing = { producing: write(events, produce, trace), logging: logRejected(rejected, trace) }
      return conclude(received.type, upshotOf(judgement), writing)
    },
  }
}

function recordsOf({ events, rejected }: Judgement, encoders: Encoders): Record<Written, OutRecord[]> {
  return {
    events: events.map((event) => eventRecord(event, encoders.event)),
    rejected: rejected.map(({ record }) => rejectedRecord(record, encoders.rejected)),
  }
}

type Written = 'events' | 'rejected'

const bytesOf = (records: readonly OutRecord[]) =>
  records.reduce((sum, { value }) => sum + (value === null ? 0 : Buffer.byteLength(value)), 0)

async function write(
  records: readonly OutRecord[],
  produce: Producer['produce'],
  trace: TakeTrace,
): Promise<Produced> {
  return records.length === 0 ? 'acked' : produce(records, { deadlineMs: DEADLINE_MS, trace })
}

function answerTo(produced: Produced, answer: Answer, type: RouteType): Answer {
  switch (produced) {
    case 'acked':
      return answer
    case 'full':
    case 'unknown':
      return errorAnswer('unavailable')
    case 'too_large':
    case 'refused':
      // sending it again would not help
      return errorAnswer(type === 'batch' ? 'batch_too_large' : 'call_too_large')
  }
}

export function upshotOf({ answer, sourceId, events, rejected, suppressed }: Judgement): Upshot {
  return {
    answer,
    sourceId,
    accepted: events.flatMap(({ type }) => (type === 'delete' ? [] : [type])),
    rejected: rejected.map(({ type, code }) => ({ type, code })),
    suppressed,
  }
}

export type Encoders = { event: Codec<Event>['encode']; rejected: Codec<Rejected>['encode'] }

/** Encoders that write the ids under which the topics' schemas are registered. */
export async function openEncoders(registry: Registry, named: (topic: string) => string): Promise<Encoders> {
  const event = await openCodec(registry, 'event', `${named(EVENTS)}-value`)
  const rejected = await openCodec(registry, 'rejected', `${named(REJECTED)}-value`)
  return { event: event.encode, rejected: rejected.encode }
}

export function rejectedRecord(rejected: Rejected, encode: Encoders['rejected']): OutRecord {
  return { topic: REJECTED, key: rejected.sourceId, value: encode(rejected) }
}
