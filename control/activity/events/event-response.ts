import { z } from 'zod'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import { attemptResponse, attemptShape } from '../attempts.ts'
import { deadResponse, deadShape } from '../dead/dead-letter.ts'
import { callJson, rejectedJson, type WriteKeys } from '../records/call-json.ts'
import { DELIVERY_STATES, type DeliveryStatus, REASONS } from './delivery-status.ts'
import type { Fields } from './matches.ts'

const deliveryStatusShape = z.strictObject({
  destinationId: z.string(),
  deliveryId: z.string(),
  routed: z.boolean().describe('By the current settings.'),
  reason: z
    .enum(REASONS)
    .nullable()
    .describe(
      'Why the event is not routed. `integrations`: the call turned the destination off; `disabled`: the destination is off; `type`: it does not take this type; `source`: it is not connected to the source; `removed`: it no longer exists; `filtered` and `sampled_out`: its rules do not let the event pass.',
    ),
  condition: z
    .string()
    .nullable()
    .describe('With `filtered`: JSON pointer into the rules, to the deciding condition. Otherwise null.'),
  state: z
    .enum(DELIVERY_STATES)
    .nullable()
    .describe(
      '`unknown`: never attempted, as far as known, and older than the known attempts or than the destination’s settings. Null: not routed and never attempted.',
    ),
  attempts: z.array(attemptShape).describe('Known attempts, oldest first.'),
  nextAttemptAt: timeShape.describe(
    'By the retry ladder. Null: no attempt will follow, or only the deliverer knows when a deferral ends.',
  ),
  dead: deadShape.nullable(),
})

const callFields = {
  messageId: z.string().nullable(),
  type: z.string().nullable(),
  userId: z.string().nullable(),
  anonymousId: z.string().nullable(),
  event: z.string().nullable(),
  name: z.string().nullable(),
}

export const eventShape = z
  .strictObject({
    ...callFields,
    sourceId: z.string(),
    receivedAt: timeShape,
    call: z.looseObject({}).describe('The call as in live streams (docs/reference/activity.md).'),
    rejected: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    destinations: z.array(deliveryStatusShape),
  })
  .meta({ id: 'Event' })

type Shown = z.infer<typeof eventShape>

export function eventResponse(event: Event, statuses: readonly DeliveryStatus[]): Shown {
  const { messageId, sourceId, type, userId, anonymousId, name, receivedAt } = event
  return {
    messageId,
    sourceId,
    type,
    userId,
    anonymousId,
    event: event.event,
    name,
    receivedAt: isoTime(receivedAt),
    call: { ...callJson(event) },
    rejected: null,
    destinations: statuses.map(deliveryStatusResponse),
  }
}

/** @param keys of its source. */
export function rejectionResponse(
  { rejected, fields }: { rejected: Rejected; fields: Fields },
  keys: WriteKeys | undefined,
): Shown {
  const { sourceId, code, message, receivedAt } = rejected
  return {
    ...fields,
    sourceId,
    receivedAt: isoTime(receivedAt),
    call: { ...rejectedJson(rejected, keys) },
    rejected: { code, message },
    destinations: [],
  }
}

const deliveryStatusResponse = ({ attempts, nextAttemptAt, dead, ...status }: DeliveryStatus) => ({
  ...status,
  attempts: attempts.map(attemptResponse),
  nextAttemptAt: isoTime(nextAttemptAt),
  dead: dead && deadResponse(dead),
})
