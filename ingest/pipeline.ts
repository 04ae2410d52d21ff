import type { OutRecord, Produced, ProduceOptions, Producer } from '../kafka/produce/produce.ts'
import { sizeOf } from '../kafka/produce/queue/buffer-memory.ts'
import type { Logger } from '../process/log.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Event } from '../schemas/event.ts'
import { eventRecord } from '../schemas/event-record.ts'
import { openCodec, type Registry } from '../schemas/registry.ts'
import type { Rejected } from '../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../schemas/topics.ts'
import type { Trace } from '../trace/trace.ts'
import { type Answer, batchAnswer, type Code, errorAnswer, retryAfter } from './answer.ts'
import {
  authenticate,
  countCalls,
  type Received,
  type RouteType,
  type SourceByWriteKey,
  sourceOf,
} from './call/authenticate.ts'
import { type Decision, decide, type RequestFacts, refuse } from './call/decide.ts'
import { parseCost } from './call/json.ts'
import type { Meter, RejectedCalls, Summary } from './metrics.ts'
import {
  type AnonymousLimit,
  createAnonymousLimit,
  createSourceLimits,
  rateLimited,
  type SourceLimit,
  type SourceLimits,
} from './rate-limits.ts'
import type { RejectionLog } from './rejection-log.ts'

/** After this, the client should retry. The router drops duplicates. */
const DEADLINE_MS = 10_000

export type PipelineOptions = {
  sourceByWriteKey: SourceByWriteKey
  suppressedUsers: (sourceId: string) => RequestFacts['suppressed']
  newId: RequestFacts['newId']
  /** Milliseconds since 1970. */
  now: () => number
  /** Milliseconds, monotonic. */
  clock: () => number
  produce: Producer['produce']
  /** For this source; without one, for all. */
  unavailable: (sourceId?: string) => 'unavailable' | 'storage_full' | undefined
  logRejected: RejectionLog
  encoders: Encoders
  meter: Pick<Meter, 'count' | 'refused'>
  log: Pick<Logger, 'error'>
}

export type Ingest = (received: Received, ip: string, trace?: IngestTrace) => Promise<Answer>
type IngestTrace = Pick<Trace, 'headers' | 'send' | 'note'> | undefined

/**
 * Refuses and counts a request before its body is read, and again before it is inflated and parsed.
 * @returns undefined if it passes.
 */
export type Precheck = (request: Omit<Received, 'body'>, ip: string) => Answer | undefined

/** For a body that could not be unpacked: counts toward the limit of its source or network. */
export type CountUnpacked = (request: Omit<Received, 'body'>, ip: string, bytes: number) => void

/** For a request that is refused unread: its source is known if the key is outside the body. */
export type CountRefused = (type: RouteType | 'unknown', code: Code, writeKey: string | undefined) => void

export type Pipeline = {
  ingest: Ingest
  precheck: Precheck
  countUnpacked: CountUnpacked
  countRefused: CountRefused
}

/** Writes the events of a request as one group, and answers when Kafka has acknowledged all. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { produce, logRejected, encoders, meter } = options
  const sourceLimits = createSourceLimits(options.clock)
  const anonymousLimit = createAnonymousLimit(options.clock)
  const parts = { ...options, sourceLimits, anonymousLimit }

  function refused(type: RouteType, decision: Decision): Answer {
    meter.count(type, summaryOf(decision), decision.answer.code)
    return decision.answer
  }

  return {
    precheck(request, ip) {
      const refusal = precheck(request, ip, parts)
      return refusal && refused(request.type, refusal)
    },
    countUnpacked({ writeKey, wire = NOT_SENT }, ip, bytes) {
      if (writeKey === undefined) return anonymousLimit.count(ip, Math.max(bytes, wire.cost))
      const source = sourceOf(writeKey, options.sourceByWriteKey)
      if (!('rateLimit' in source) || !source.rateLimit) return
      sourceLimits.draw(source.rateLimit, 1)
      sourceLimits.spend(source.rateLimit, wire.bytes)
    },
    countRefused(type, code, writeKey) {
      const source = sourceOf(writeKey, options.sourceByWriteKey)
      meter.refused(type, code, 'refused' in source ? source.sourceId : source.id)
    },
    // not async: a request that waits for Kafka holds only its records
    ingest(received, ip, trace) {
      const { decision, limit } = decideRequest(received, ip, parts)
      if (decision.sourceId) trace?.note({ 'sluice.source.id': decision.sourceId })
      const { events, rejected } = recordsOf(decision, encoders)
      // dropped members had to be parsed too, and gzip that inflates to little still had to be received
      const taken = Math.max(received.body.length, received.wire?.bytes ?? 0)
      const bytes = () => Math.max(bytesOf([...events, ...rejected], trace?.headers), taken)
      if (limit?.bytesPerSecond !== undefined) sourceLimits.spend(limit, bytes())
      const sending = { trace, flow: decision.sourceId }
      const producing = write(events, produce, sending)
      const logging = logRejected(rejected, sending)
      const writing = { type: received.type, summary: summaryOf(decision), producing, logging }
      return answerWhenWritten(writing, options)
    },
  }
}

/** A pixel has no body. */
const NOT_SENT = { bytes: 0, cost: 0 }

type Parts = PipelineOptions & { sourceLimits: SourceLimits; anonymousLimit: AnonymousLimit }

function precheck(
  { writeKey }: Omit<Received, 'body'>,
  ip: string,
  { unavailable, sourceByWriteKey, anonymousLimit, sourceLimits }: Parts,
): Decision | undefined {
  const why = unavailable()
  if (why) return refuse(why, undefined)
  if (writeKey !== undefined) {
    const source = sourceOf(writeKey, sourceByWriteKey)
    if ('refused' in source) return refuse(source.refused, source.sourceId)
    const { id, rateLimit: limit } = source
    const full = unavailable(id)
    if (full) return refuse(full, id)
    const seconds = limit && sourceLimits.wait(limit)
    return seconds ? refuse('rate_limited', id, rateLimited(limit, seconds)) : undefined
  }
  const wait = anonymousLimit.wait(ip)
  if (wait === undefined) return undefined
  return refuse('too_many_attempts', undefined, errorAnswer('too_many_attempts', retryAfter(wait)))
}

type Decided = { decision: Decision; limit: SourceLimit | undefined }

function decideRequest(received: Received, ip: string, options: Parts): Decided {
  const { unavailable, sourceByWriteKey, anonymousLimit, sourceLimits, newId, now, suppressedUsers } = options
  const request = authenticate(received, sourceByWriteKey)
  if ('refused' in request) {
    const { writeKey, body, wire = NOT_SENT } = received
    if (writeKey === undefined) anonymousLimit.count(ip, Math.max(parseCost(body), wire.cost))
    return { decision: refuse(request.refused, request.sourceId), limit: undefined }
  }
  const { id, rateLimit: limit } = request.source
  const full = unavailable(id)
  if (full) return { decision: refuse(full, id), limit: undefined }
  const wait = limit && sourceLimits.draw(limit, countCalls(request))
  if (wait) return { decision: refuse('rate_limited', id, rateLimited(limit, wait)), limit: undefined }
  const facts = { receivedAt: now(), ip, newId, suppressed: suppressedUsers(id) }
  return { decision: decide(request, facts), limit }
}

function recordsOf(
  { events, rejected }: Decision,
  encoders: Encoders,
): Record<'events' | 'rejected', OutRecord[]> {
  return {
    events: events.map((event) => eventRecord(event, encoders.event)),
    rejected: rejected.map(({ record }) => rejectedRecord(record, encoders.rejected)),
  }
}

/** @param added headers that each record gets. */
function bytesOf(records: readonly OutRecord[], added: OutRecord['headers'] = {}): number {
  const each = sizeOf({ key: '', value: null, headers: added })
  return records.reduce((sum, record) => sum + sizeOf(record) + each, 0)
}

async function write(
  records: readonly OutRecord[],
  produce: Producer['produce'],
  options: Pick<ProduceOptions, 'trace' | 'flow'>,
): Promise<Produced> {
  return records.length === 0 ? 'acked' : produce(records, { deadlineMs: DEADLINE_MS, ...options })
}

type Writing = { type: RouteType; summary: Summary; producing: Promise<Produced>; logging: Promise<void> }

async function answerWhenWritten(
  { type, summary, producing, logging }: Writing,
  { meter, log }: PipelineOptions,
): Promise<Answer> {
  const produced = await producing
  await logging
  const answer = answerTo(produced, summary, type)
  meter.count(type, summary, answer.code)
  if (produced === 'too_large' || produced === 'refused')
    log.error(
      { sourceId: summary.sourceId, code: produced },
      'Kafka refuses records of this size: check that max.message.bytes is at least 1 MB',
    )
  return answer
}

function answerTo(
  produced: Produced,
  { answer, listed }: Pick<Summary, 'answer' | 'listed'>,
  type: RouteType,
): Answer {
  switch (produced) {
    case 'acked':
      return listed ? batchAnswer(listed) : answer
    case 'full':
    case 'unknown':
      return errorAnswer('unavailable')
    case 'too_large':
    case 'refused':
      // a retry would fail too
      return errorAnswer(type === 'batch' ? 'batch_too_large' : 'call_too_large')
  }
}

function summaryOf({ answer, listed, sourceId, events, rejected, suppressed }: Decision): Summary {
  return {
    answer,
    listed,
    sourceId,
    accepted: events.flatMap(({ type }) => (type === 'delete' ? [] : [type])),
    rejected: countRejected(rejected),
    suppressed,
  }
}

function countRejected(rejected: Decision['rejected']): RejectedCalls[] {
  const counts = new Map<string, RejectedCalls>()
  for (const { type, code } of rejected) {
    const counted = counts.get(`${type} ${code}`)
    if (counted) counted.count += 1
    else counts.set(`${type} ${code}`, { type, code, count: 1 })
  }
  return [...counts.values()]
}

export type Encoders = { event: Codec<Event>['encode']; rejected: Codec<Rejected>['encode'] }

export async function openEncoders(registry: Registry, named: (topic: string) => string): Promise<Encoders> {
  const event = await openCodec(registry, 'event', `${named(EVENTS)}-value`)
  const rejected = await openCodec(registry, 'rejected', `${named(REJECTED)}-value`)
  return { event: event.encode, rejected: rejected.encode }
}

const rejectedRecord = (rejected: Rejected, encode: Encoders['rejected']): OutRecord => ({
  topic: REJECTED,
  key: rejected.sourceId,
  value: encode(rejected),
})
