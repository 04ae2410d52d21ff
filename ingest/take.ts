import type { Produced } from '../kafka/pending.ts'
import type { OutRecord, Producer } from '../kafka/produce.ts'
import type { Logger } from '../log.ts'
import { eventRecord } from '../schemas/event-record.ts'
import type { Trace } from '../trace/trace.ts'
import { type Answer, errorAnswer } from './answer.ts'
import { type Judgement, judge, type Known, refuse } from './call/judge.ts'
import { callsIn, type Received, type RouteType, readSender, type SourceByWriteKey } from './call/sender.ts'
import type { Code } from './codes.ts'
import type { Meter } from './meter/metrics.ts'
import { type Encoders, rejectedRecord } from './record.ts'
import type { RejectionLog } from './rejections.ts'
import { createThrottle, tooFast } from './throttle.ts'
import { type Upshot, upshotOf } from './upshot.ts'

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
  logRejected: RejectionLog
  encoders: Encoders
  meter: Pick<Meter, 'count' | 'refused'>
  log: Pick<Logger, 'error'>
}

/** What is taken belongs to `trace`, where there is one. */
export type Take = (received: Received, ip: string, trace?: TakeTrace) => Promise<Answer>
type TakeTrace = Pick<Trace, 'send' | 'note'> | undefined

/** Takes a request: judges it, writes its events to Kafka as one group, and answers when all of them are acknowledged. */
export function createTake({
  produce,
  turnsAway,
  logRejected,
  encoders,
  meter,
  log,
  ...known
}: TakeOptions): Take {
  const decide = createDecide(known)

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

  async function turnAway(type: RouteType, code: Code): Promise<Answer> {
    meter.refused(type, code)
    return errorAnswer(code)
  }

  // while it waits for Kafka a request holds its records alone, not what they were made of
  return (received, ip, trace) => {
    // nothing would come of what is spent on it, nor of what is drawn from its source's limit
    const why = turnsAway()
    if (why) return turnAway(received.type, why)
    const judgement = decide(received, ip)
    if (judgement.sourceId) trace?.note({ 'sluice.source.id': judgement.sourceId })
    const { events, rejected } = recordsOf(judgement, encoders)
    const writing = { producing: write(events, produce, trace), logging: logRejected(rejected, trace) }
    return conclude(received.type, upshotOf(judgement), writing)
  }
}

type DecideOptions = Omit<TakeOptions, 'produce' | 'turnsAway' | 'logRejected' | 'encoders' | 'meter' | 'log'>

function createDecide({ sourceByWriteKey, suppressedUsers, newId, now, clock }: DecideOptions) {
  const throttle = createThrottle(clock)
  return (received: Received, ip: string): Judgement => {
    const sent = readSender(received, sourceByWriteKey)
    if ('refused' in sent) return refuse(sent.refused, sent.sourceId)
    const { id, rateLimit } = sent.source
    const retryAfter = rateLimit && throttle(rateLimit, callsIn(sent))
    if (retryAfter) return refuse('rate_limited', id, tooFast(rateLimit, retryAfter))
    return judge(sent, { receivedAt: now(), ip, newId, suppressed: suppressedUsers(id) })
  }
}

function recordsOf({ events, rejected }: Judgement, encoders: Encoders): Record<Written, OutRecord[]> {
  return {
    events: events.map((event) => eventRecord(event, encoders.event)),
    rejected: rejected.map(({ record }) => rejectedRecord(record, encoders.rejected)),
  }
}

type Written = 'events' | 'rejected'

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
