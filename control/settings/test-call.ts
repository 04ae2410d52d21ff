import { z } from 'zod'
import { isObject } from '../../process/json-objects.ts'
import type { Event, EventType } from '../../schemas/event.ts'
import { EMPTY_EVENT } from '../../schemas/event-record.ts'
import { CALL_TYPES } from '../../settings/settings.ts'
import { SAMPLE_CALLS } from './sample-calls.ts'

/** Limit of ingest (docs/reference/ingest.md). */
const CALL_BYTES = 32_768

/** The same rule as `readId` in ingest. */
const isExact = (id: number) => Math.abs(id) <= Number.MAX_SAFE_INTEGER && !String(id).includes('e')
const exact = z
  .number()
  .refine(isExact, `numbers have at most ${Number.MAX_SAFE_INTEGER} and no exponent: give a string`)
const id = z.union([z.string(), exact], { error: 'give a string or a number' }).nullish()
const text = z.string().nullish()
const object = z.record(z.string(), z.unknown()).nullish()
const ignored = z.unknown().optional()

/**
 * A call as searches and live streams show it. Ingest's rules are repeated here: ingest refuses a call with one code,
 * while a test names each field at fault. test/control/settings/test-call.test.ts compares both.
 */
export const callShape = z
  .strictObject({
    type: z.enum(CALL_TYPES),
    userId: id,
    anonymousId: id,
    groupId: id,
    previousId: id,
    event: text,
    name: text,
    category: text,
    properties: object,
    traits: object,
    context: object,
    timestamp: z.iso.datetime({ offset: true }).optional().describe('Default: now.'),
    messageId: ignored,
    integrations: ignored,
    omitted: ignored,
    receivedAt: ignored,
    sentAt: ignored,
    originalTimestamp: ignored,
  })
  .superRefine((call, ctx) => {
    const missing = missingField(call)
    if (missing) ctx.addIssue({ code: 'custom', path: [missing.field], message: missing.message })
    if (Buffer.byteLength(JSON.stringify(call)) > CALL_BYTES)
      ctx.addIssue({ code: 'custom', message: 'a call may have at most 32 KB (32,768 bytes)' })
  })
  .meta({
    id: 'TestCall',
    description:
      'A call as a client sends it. `messageId`, `integrations` and all times except `timestamp` are ignored: a test has its own id and goes only to this destination.',
  })

export type TestCall = z.infer<typeof callShape>

/** `''` counts as missing, as in ingest. */
const isMissing = (value: unknown) => value === undefined || value === null || value === ''

function missingField(call: TestCall): { field: keyof TestCall; message: string } | undefined {
  const { type, userId, anonymousId, event, groupId, previousId } = call
  if (type === 'alias') {
    if (isMissing(userId)) return { field: 'userId', message: 'an alias call needs userId, the new id' }
    if (isMissing(previousId))
      return { field: 'previousId', message: 'an alias call needs previousId, the id to alias from' }
    return undefined
  }
  if (isMissing(userId) && isMissing(anonymousId))
    return { field: 'userId', message: 'a call needs userId or anonymousId' }
  if (type === 'track' && isMissing(event))
    return { field: 'event', message: 'a track call needs event, the name of the action' }
  if (type === 'group' && isMissing(groupId))
    return { field: 'groupId', message: 'a group call needs groupId' }
  return undefined
}

/** `uuid`: random, so that receivers never see an id twice. `now`: ms since 1970. */
type Facts = { uuid: string; now: number; sourceId: string }

export const testEvent = (call: TestCall, of: Facts): Event => named(eventOf(call, of.now), of)

export function sampleEvent(type: EventType, of: Facts): Event {
  if (type !== 'delete') return testEvent(SAMPLE_CALLS[type], of)
  const times = { timestamp: of.now, receivedAt: of.now }
  return named({ ...EMPTY_EVENT, ...times, type, userId: SAMPLE_CALLS.track.userId }, of)
}

type Unnamed = Omit<Event, 'sourceId' | 'messageId'>

const named = (event: Unnamed, { uuid, sourceId }: Facts): Event => ({
  ...event,
  sourceId,
  messageId: `test-${uuid}`,
})

/**
 * Reads it as ingest does: ids are strings, texts are well-formed, and a page's `traits` (from the Go library) are its
 * properties.
 */
function eventOf(call: TestCall, now: number): Unnamed {
  const isPage = call.type === 'page' && isMissing(call.properties)
  return {
    ...EMPTY_EVENT,
    type: call.type,
    userId: idOf(call.userId),
    anonymousId: idOf(call.anonymousId),
    groupId: idOf(call.groupId),
    previousId: idOf(call.previousId),
    event: call.event?.toWellFormed() ?? null,
    name: call.name?.toWellFormed() ?? null,
    category: call.category?.toWellFormed() ?? null,
    properties: print(isPage ? call.traits : call.properties),
    traits: print(isPage ? null : call.traits),
    context: print(call.context),
    timestamp: call.timestamp === undefined ? now : Date.parse(call.timestamp),
    receivedAt: now,
  }
}

const idOf = (value: string | number | null | undefined): string | null =>
  isMissing(value) ? null : String(value).toWellFormed()

const print = (value: unknown): string | null => (isObject(value) ? JSON.stringify(value) : null)
