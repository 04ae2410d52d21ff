import type { Event } from '../../schemas/event.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import type { CallType } from '../../settings/settings.ts'
import type { Users } from '../../settings/suppression-list.ts'
import { type Answer, type Code, errorAnswer, type Listed, refusal, SUCCESS } from '../answer.ts'
import { REJECTED_BYTES, REJECTED_LISTED, REJECTED_LISTED_EACH } from '../limits.ts'
import { accept, type Facts } from './accept.ts'
import { addressRule } from './address.ts'
import type { Authenticated } from './authenticate.ts'
import { acceptBatch, countedBytes, isSuppressed, type StatedType } from './batch.ts'
import type { Parsed } from './json.ts'

export type RequestFacts = Omit<Facts, 'sourceId' | 'shared' | 'addressRule'> & {
  suppressed: Users | undefined
}

export type Rejection = { type: StatedType; code: Code; record: Rejected }

/** The answer waits until Kafka has `events`, and for a limited time until it has `rejected`. */
export type Decision = {
  answer: Answer
  /** Only of a batch: replaces `answer` once Kafka has the events. */
  listed?: Listed
  /** Undefined when the source is not known. */
  sourceId: string | undefined
  events: readonly Event[]
  rejected: readonly Rejection[]
  suppressed: readonly StatedType[]
}

export function decide(
  { type, source, parsed, wire, isPixel = false }: Authenticated,
  request: RequestFacts,
): Decision {
  const { receivedAt, ip, newId, suppressed } = request
  const facts = { sourceId: source.id, receivedAt, ip, newId, addressRule: addressRule(source, isPixel) }
  if (type === 'batch') return decideBatch(parsed, facts, { suppressed, wireBytes: wire?.bytes })
  if (suppressed && parsed.ok && isSuppressed(parsed.value, suppressed, type))
    return { ...nothing(source.id), suppressed: [type] }
  return decideCall(parsed, type, facts)
}

function decideCall(parsed: Parsed, type: CallType, facts: Facts): Decision {
  const accepted = parsed.ok ? accept(parsed.value, facts, type) : parsed
  if ('event' in accepted) return { ...nothing(facts.sourceId), events: [accepted.event] }
  return {
    ...refuse(accepted.code, facts.sourceId),
    rejected: [{ type, code: accepted.code, record: toRecord(accepted.code, parsed.text, facts) }],
  }
}

function decideBatch(
  parsed: Parsed,
  facts: Facts,
  { suppressed, wireBytes }: { suppressed: Users | undefined; wireBytes: number | undefined },
): Decision {
  const size = { bytes: parsed.bytes, wireBytes }
  const accepted = parsed.ok ? acceptBatch({ value: parsed.value, ...size }, facts, suppressed) : parsed
  if (!accepted.ok) return refuseBatch(accepted.code, { parsed, facts, suppressed })
  return {
    answer: SUCCESS,
    listed: listedOf(accepted.rejected, Math.max(REJECTED_LISTED, countedBytes(size) / REJECTED_LISTED_EACH)),
    sourceId: facts.sourceId,
    events: accepted.events,
    rejected: accepted.rejected.map(({ code, type, text }) => ({
      type,
      code,
      record: toRecord(code, text, facts),
    })),
    suppressed: accepted.suppressed,
  }
}

function listedOf(rejected: readonly { index: number; code: Code }[], most: number): Listed {
  const listed = rejected.slice(0, most)
  const codes = new Array<Code | undefined>((listed.at(-1)?.index ?? -1) + 1).fill(undefined)
  for (const { index, code } of listed) codes[index] = code
  return { codes, unlisted: rejected.length - listed.length }
}

/** Does not store a batch that may contain data of suppressed users. */
function refuseBatch(
  code: Code,
  { parsed, facts, suppressed }: { parsed: Parsed; facts: Facts; suppressed: Users | undefined },
): Decision {
  const whole = { type: 'unknown', code, record: toRecord(code, parsed.text, facts) } as const
  return { ...refuse(code, facts.sourceId), rejected: suppressed ? [] : [whole] }
}

function nothing(sourceId: string): Decision {
  return { answer: SUCCESS, sourceId, events: [], rejected: [], suppressed: [] }
}

export function refuse(
  code: Code,
  sourceId: string | undefined,
  answer: Answer = errorAnswer(code),
): Decision {
  return { answer, sourceId, events: [], rejected: [], suppressed: [] }
}

function toRecord(code: Code, raw: string, { sourceId, receivedAt }: Facts): Rejected {
  const truncated = Buffer.byteLength(raw) > REJECTED_BYTES
  // UTF-8 takes at most three bytes for each UTF-16 unit
  const head = truncated ? raw.slice(0, REJECTED_BYTES / 3) : raw
  return { sourceId, ...refusal(code), raw: head, receivedAt, truncated }
}
