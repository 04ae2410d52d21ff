import type { Event } from '../../schemas/event.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import type { Users } from '../../settings/suppression-list.ts'
import { type Answer, batchAnswer, type Code, errorAnswer, refusal, SUCCESS } from '../answer.ts'
import { REJECTED_BYTES, REJECTED_LISTED, REJECTED_LISTED_EACH } from '../limits.ts'
import { accept, type CallType, type Facts } from './accept.ts'
import { addressRule } from './address.ts'
import { acceptBatch, isSuppressed, type SaidType } from './batch.ts'
import type { Parsed } from './json.ts'
import type { Sent } from './sender.ts'

export type Known = Omit<Facts, 'sourceId' | 'shared' | 'addressRule'> & {
  /** The users whose calls are dropped; undefined when there are none. */
  suppressed: Users | undefined
}

/** A call that is not taken but kept. */
export type Rejection = { type: SaidType; code: Code; record: Rejected }

/** What a request comes to. Its answer holds once Kafka has what is in `events` and `rejected`. */
export type Judgement = {
  answer: Answer
  /** Undefined when its write key belongs to none. */
  sourceId: string | undefined
  events: readonly Event[]
  rejected: readonly Rejection[]
  /** The types of the calls that were taken and dropped. */
  suppressed: readonly SaidType[]
}

/** Decides which calls of a request are taken, and what to answer. Never throws. */
export function judge({ type, source, parsed, isPixel = false }: Sent, known: Known): Judgement {
  const { receivedAt, ip, newId } = known
  const facts = { sourceId: source.id, receivedAt, ip, newId, addressRule: addressRule(source, isPixel) }
  if (type === 'batch') return judgeBatch(parsed, facts, known.suppressed)
  if (known.suppressed && parsed.ok && isSuppressed(parsed.value, known.suppressed, type))
    return { ...took(source.id), suppressed: [type] }
  return judgeCall(parsed, type, facts)
}

function judgeCall(parsed: Parsed, type: CallType, facts: Facts): Judgement {
  const verdict = parsed.ok ? accept(parsed.value, facts, type) : parsed
  if ('event' in verdict) return { ...took(facts.sourceId), events: [verdict.event] }
  return {
    ...refuse(verdict.code, facts.sourceId),
    rejected: [{ type, code: verdict.code, record: toRecord(verdict.code, parsed.text, facts) }],
  }
}

function judgeBatch(parsed: Parsed, facts: Facts, suppressed: Users | undefined): Judgement {
  const verdict = parsed.ok ? acceptBatch(parsed, facts, suppressed) : parsed
  if (!verdict.ok) return refuseBatch(verdict.code, { parsed, facts, suppressed })
  const listed = verdict.rejected.slice(0, Math.max(REJECTED_LISTED, parsed.bytes / REJECTED_LISTED_EACH))
  return {
    answer: batchAnswer(
      listed.map(({ index, code }) => ({ index, ...refusal(code) })),
      verdict.rejected.length - listed.length,
    ),
    sourceId: facts.sourceId,
    events: verdict.events,
    rejected: verdict.rejected.map(({ code, type, call }) => ({
      type,
      code,
      record: toRecord(code, printed(call), facts),
    })),
    suppressed: verdict.suppressed,
  }
}

/** It is kept whole, unless there are users in it, perhaps, of whom nothing is to be kept. */
function refuseBatch(
  code: Code,
  { parsed, facts, suppressed }: { parsed: Parsed; facts: Facts; suppressed: Users | undefined },
): Judgement {
  const kept = { type: 'unknown', code, record: toRecord(code, parsed.text, facts) } as const
  return { ...refuse(code, facts.sourceId), rejected: suppressed ? [] : [kept] }
}

function took(sourceId: string): Judgement {
  return { answer: SUCCESS, sourceId, events: [], rejected: [], suppressed: [] }
}

/** The whole request. */
export function refuse(
  code: Code,
  sourceId: string | undefined,
  answer: Answer = errorAnswer(code),
): Judgement {
  return { answer, sourceId, events: [], rejected: [], suppressed: [] }
}

function toRecord(code: Code, raw: string, { sourceId, receivedAt }: Facts): Rejected {
  const truncated = Buffer.byteLength(raw) > REJECTED_BYTES
  // a character has three bytes at most, in UTF-8, for each of its UTF-16 units
  const kept = truncated ? raw.slice(0, REJECTED_BYTES / 3) : raw
  return { sourceId, ...refusal(code), raw: kept, receivedAt, truncated }
}

function printed(call: unknown): string {
  try {
    return JSON.stringify(call)
  } catch {
    return '' // thousands of levels deep
  }
}
