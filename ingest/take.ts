import type { OutRecord, Produced, Producer } from '../kafka/produce.ts'
import type { Logger } from '../log.ts'
import { type Answer, errorAnswer, UNAVAILABLE } from './answer.ts'
import { type Judgement, judge, type Known, type Received, type RouteType } from './judge.ts'
import type { Meter } from './metrics.ts'
import { type Encoders, eventRecord, rejectedRecord } from './record.ts'

/** Past it Kafka's answer is unknown and the client had better send again; the router drops what is then there twice. */
const DEADLINE_MS = 10_000

export type TakeOptions = {
  sourceByWriteKey: Known['sourceByWriteKey']
  newId: Known['newId']
  /** Milliseconds since 1970. */
  now: () => number
  produce: Producer['produce']
  encoders: Encoders
  meter: Pick<Meter, 'count'>
  log: Pick<Logger, 'error'>
}

export type Take = (received: Received, ip: string) => Promise<Answer>

/** Takes a request: judges it, writes all that is in it to Kafka as one group, and answers when all of that is acknowledged. */
export function createTake({ produce, encoders, meter, log, ...known }: TakeOptions): Take {
  return async (received, ip) => {
    const judgement = judge(received, { ...known, ip, receivedAt: known.now() })
    const produced = await write(recordsOf(judgement, encoders), produce)
    meter.count(received.type, judgement, produced)
    if (produced === 'too_large' || produced === 'refused')
      log.error(
        { sourceId: judgement.sourceId, code: produced },
        'Kafka takes no records of this size: is max.message.bytes below 1 MB?',
      )
    return answerTo(produced, judgement, received.type)
  }
}

function recordsOf({ events, rejected }: Judgement, encoders: Encoders): OutRecord[] {
  const records = events.map((event) => eventRecord(event, encoders.event))
  for (const { record } of rejected) records.push(rejectedRecord(record, encoders.rejected))
  return records
}

async function write(records: readonly OutRecord[], produce: Producer['produce']): Promise<Produced> {
  return records.length === 0 ? 'acked' : produce(records, { deadlineMs: DEADLINE_MS })
}

function answerTo(produced: Produced, judgement: Judgement, type: RouteType): Answer {
  switch (produced) {
    case 'acked':
      return judgement.answer
    case 'full':
    case 'unknown':
      return UNAVAILABLE
    case 'too_large':
    case 'refused':
      // sending it again would not help
      return errorAnswer(type === 'batch' ? 'batch_too_large' : 'call_too_large')
  }
}
