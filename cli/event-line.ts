import { z } from 'zod'
import type { ServerEvent } from './api/sse.ts'
import { plain } from './table.ts'

const text = z.string().nullish()
const shapes = {
  call: z.looseObject({
    sourceId: text,
    type: z.string(),
    messageId: z.string(),
    timestamp: text,
    userId: text,
    anonymousId: text,
    event: text,
    name: text,
    groupId: text,
  }),
  rejected: z.looseObject({
    sourceId: text,
    code: z.string(),
    message: z.string(),
    receivedAt: text,
    raw: z.string(),
  }),
  attempt: z.looseObject({
    messageId: z.string(),
    destinationId: z.string(),
    attempt: z.number(),
    startedAt: text,
    outcome: z.string(),
    status: z.number().nullable(),
    code: text,
    durationMs: z.number(),
  }),
  skipped: z.looseObject({ count: z.number(), reason: z.string() }),
}

/** Shows an event of unknown form unparsed. */
export function eventLine({ event, data }: ServerEvent): string {
  const words = Object.hasOwn(WORDS, event) ? WORDS[event]?.(parsed(data)) : undefined
  return (words ?? [event, data]).map(plain).join('  ')
}

type Words = unknown[] | undefined

const WORDS: Readonly<Record<string, (value: unknown) => Words>> = { call, rejected, attempt, skipped }

/** Present only in the stream of all sources. */
const sourceOf = ({ sourceId }: { sourceId?: string | null | undefined }) => (sourceId ? [sourceId] : [])

function call(value: unknown): Words {
  const read = shapes.call.safeParse(value).data
  if (!read) return undefined
  const { timestamp, type, userId, anonymousId, event, name, groupId, messageId } = read
  return [
    timestamp,
    'call',
    ...sourceOf(read),
    type,
    userId ?? anonymousId,
    event ?? name ?? groupId,
    messageId,
  ]
}

function rejected(value: unknown): Words {
  const read = shapes.rejected.safeParse(value).data
  return read && [read.receivedAt, 'rejected', ...sourceOf(read), read.code, read.message, read.raw]
}

function attempt(value: unknown): Words {
  const read = shapes.attempt.safeParse(value).data
  if (!read) return undefined
  const { startedAt, destinationId, attempt: number, outcome, code, status, durationMs, messageId } = read
  return [startedAt, 'attempt', destinationId, number, outcome, code ?? status, `${durationMs} ms`, messageId]
}

function skipped(value: unknown): Words {
  const read = shapes.skipped.safeParse(value).data
  return read && ['skipped', read.count, WHY_SKIPPED[read.reason] ?? read.reason]
}

const WHY_SKIPPED: Readonly<Record<string, string>> = {
  rate: 'more than 100 a second',
  slow: 'this reader is too slow',
}

/** Undefined if it is not JSON. */
export function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
