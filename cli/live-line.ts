import { z } from 'zod'
import type { Told } from './api/sse.ts'
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
}

/** What a stream tells, on one line; what is of another form is shown as it came. */
export function toldLine({ event, data }: Told): string {
  const value = parsed(data)
  const words =
    event === 'call' ? call(value) : event === 'rejected' ? rejected(value) : attempt(event, value)
  return (words ?? [event, data]).map(plain).join('  ')
}

type Words = unknown[] | undefined

/** It is told where all sources are watched. */
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

function attempt(event: string, value: unknown): Words {
  const read = event === 'attempt' ? shapes.attempt.safeParse(value).data : undefined
  if (!read) return undefined
  const { startedAt, destinationId, attempt: number, outcome, code, status, durationMs, messageId } = read
  return [startedAt, 'attempt', destinationId, number, outcome, code ?? status, `${durationMs} ms`, messageId]
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}

const MOST = 10_000

/** Whether something is new, by its key; of the last 10,000 keys and a few more each is known. */
export function once<T>(keyOf: (value: T) => string): (value: T) => boolean {
  let [younger, older] = [new Set<string>(), new Set<string>()]
  return (value) => {
    const key = keyOf(value)
    if (younger.has(key) || older.has(key)) return false
    if (younger.size >= MOST) [younger, older] = [new Set(), younger]
    younger.add(key)
    return true
  }
}
