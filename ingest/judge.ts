import type { Event } from '../schemas/event.ts'
import type { Rejected } from '../schemas/rejected.ts'
import type { Source } from '../schemas/settings.ts'
import { accept, type CallType, type Facts, isCallType } from './accept.ts'
import { type Answer, batchAnswer, errorAnswer, SUCCESS } from './answer.ts'
import { acceptBatch } from './batch.ts'
import { type Code, refusal } from './codes.ts'
import { isObject, type Parsed, parseBody } from './json.ts'
import { REJECTED_CHARS } from './limits.ts'
import { writeKeyOf } from './write-key.ts'

/** The calls' type, or `batch`, as the route says. */
export type RouteType = CallType | 'batch'

/** A request as it came. */
export type Received = {
  type: RouteType
  authorization: string | undefined
  query: unknown
  body: Buffer
}

export type Known = Omit<Facts, 'sourceId' | 'shared'> & {
  sourceByWriteKey(writeKey: string): Pick<Source, 'id' | 'enabled'> | undefined
}

/** A call that is not taken but kept; `unknown` when it does not say which type it is. */
export type Rejection = { type: CallType | 'unknown'; code: Code; record: Rejected }

/** What a request comes to. Its answer holds once Kafka has what is in `events` and `rejected`. */
export type Judgement = {
  answer: Answer
  /** Undefined when its write key belongs to none. */
  sourceId: string | undefined
  events: readonly Event[]
  rejected: readonly Rejection[]
  /** Why the whole request is refused. */
  refused?: Code
}

/** Decides on a request: from whom it is, which of its calls are taken, and what to answer. Never throws. */
export function judge(received: Received, known: Known): Judgement {
  const parsed = parseBody(received.body)
  const body = parsed.ok ? parsed.value : undefined
  const writeKey = writeKeyOf({ ...received, body })
  // the key may be in what cannot be read
  if (!parsed.ok && writeKey === undefined) return refuse(parsed.code)
  const source = writeKey === undefined ? undefined : known.sourceByWriteKey(writeKey)
  if (!source) return refuse('unknown_source')
  if (!source.enabled) return refuse('source_disabled', source.id)
  const facts = { sourceId: source.id, receivedAt: known.receivedAt, ip: known.ip, newId: known.newId }
  if (received.type === 'batch') return judgeBatch(parsed, facts)
  return judgeCall(parsed, received.type, facts)
}

function judgeCall(parsed: Parsed, type: CallType, facts: Facts): Judgement {
  const verdict = parsed.ok ? accept(parsed.value, facts, type) : parsed
  if ('event' in verdict)
    return { answer: SUCCESS, sourceId: facts.sourceId, events: [verdict.event], rejected: [] }
  return {
    ...refuse(verdict.code, facts.sourceId),
    rejected: [{ type, code: verdict.code, record: toRecord(verdict.code, parsed.text, facts) }],
  }
}

/** A batch that is refused as a whole holds no call that could be kept. */
function judgeBatch(parsed: Parsed, facts: Facts): Judgement {
  const verdict = parsed.ok ? acceptBatch(parsed.value, facts) : parsed
  if (!verdict.ok) return refuse(verdict.code, facts.sourceId)
  return {
    answer: batchAnswer(verdict.rejected.map(({ index, code }) => ({ index, ...refusal(code) }))),
    sourceId: facts.sourceId,
    events: verdict.events,
    rejected: verdict.rejected.map(({ code, call }) => ({
      type: typeOf(call),
      code,
      record: toRecord(code, printed(call), facts),
    })),
  }
}

function refuse(refused: Code, sourceId?: string): Judgement {
  return { answer: errorAnswer(refused), sourceId, events: [], rejected: [], refused }
}

function toRecord(code: Code, raw: string, { sourceId, receivedAt }: Facts): Rejected {
  return { sourceId, ...refusal(code), raw: raw.slice(0, REJECTED_CHARS), receivedAt }
}

const typeOf = (call: unknown) => (isObject(call) && isCallType(call.type) ? call.type : 'unknown')

function printed(call: unknown): string {
  try {
    return JSON.stringify(call)
  } catch {
    return '' // thousands of levels deep
  }
}
