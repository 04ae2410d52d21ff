import { z } from 'zod'
import { DEAD_REASONS } from '../../../delivery/ladder.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { idShape } from '../../../settings/settings.ts'
import { flag } from '../../api/operation.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import {
  idField,
  isWithin,
  matchesStatus,
  nameField,
  rangeFields,
  statusShape,
  userField,
} from '../records/query-fields.ts'
import type { RecordPosition } from '../records/recent-records.ts'
import { beginningOf, type Subject, subjectOf } from '../records/subject.ts'

/** `time`: when the delivery was given up. `code`: why its rules failed. `writtenAt`: the record's time. */
export type DeadLetter = RecordPosition &
  Subject & {
    deliveryId: string
    messageId: string
    destinationId: string
    reason: string
    code: string | null
    writtenAt: number
    statuses: readonly number[]
  }

export const letterId = ({ partition, offset }: Pick<DeadLetter, 'partition' | 'offset'>) =>
  `x${partition}-${offset}`

/** Texts may have 32 KB, and there are 100,000 letters. */
const MAX_TEXT = 256

/** As in a dead letter. */
export const shownUser = (user: string | null) => user && beginningOf(user, MAX_TEXT)

type Found = { partition: number; offset: number; timestamp: number; key: string; code: string | null }

/** Other writers' records may lack fields. */
export function letterOf(delivery: Delivery, { partition, offset, timestamp, key, code }: Found): DeadLetter {
  const { deliveryId, messageId, destinationId, deadReason, deadAt, history } = delivery
  const { event, user } = subjectOf(delivery, key)
  return {
    time: deadAt ?? timestamp,
    partition,
    offset,
    deliveryId,
    messageId,
    destinationId,
    reason: deadReason ?? 'unknown',
    code,
    event: event && beginningOf(event, MAX_TEXT),
    user: shownUser(user),
    writtenAt: timestamp,
    statuses: [...new Set(history.flatMap(({ status }) => status ?? []))],
  }
}

const codeShape = z
  .string()
  .nullable()
  .describe('With the reason `rules_failed`: why the rules failed (docs/reference/codes.md). Otherwise null.')

export const deadFields = { reason: z.string(), code: codeShape, deadAt: timeShape }

export const deadShape = z.strictObject(deadFields)

export const deadResponse = ({ reason, code, time }: Pick<DeadLetter, 'reason' | 'code' | 'time'>) => ({
  reason,
  code,
  deadAt: isoTime(time),
})

export type DeadConditions = Pick<DeadQuery, 'destinationId' | 'reason' | 'event' | 'user' | 'status'>

/** Longer texts match if their stored part is equal. */
export function matchesConditions({
  status,
  event,
  user,
  ...ids
}: {
  [name in keyof DeadConditions]?: string | undefined
}): (letter: DeadLetter) => boolean {
  const asked = Object.entries({
    ...ids,
    event: event && beginningOf(event, MAX_TEXT),
    user: user && beginningOf(user, MAX_TEXT),
  })
  const fields = asked.filter(([, value]) => value !== undefined) as [keyof DeadLetter, string][]
  const isStatus = status === undefined ? undefined : matchesStatus(status)
  return (letter) =>
    fields.every(([name, value]) => letter[name] === value) && (!isStatus || letter.statuses.some(isStatus))
}

export const deadReasonShape = z.enum(DEAD_REASONS)

export const deadQueryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(50)
    .describe('Maximum number of items. Each holds its body, which can exceed 64 KB.'),
  destinationId: idShape.optional(),
  reason: deadReasonShape.optional().describe('Why the delivery was given up.'),
  deliveryId: idField.optional(),
  messageId: idField.optional(),
  event: nameField.optional(),
  user: userField.optional().describe('The userId, or the anonymousId of events without one.'),
  status: statusShape.optional().describe('An attempt got this HTTP status (`404`) or class (`5xx`).'),
  replayed: flag('Whether a replay has sent it since. `false`: only those that no replay has sent.'),
})

export type DeadQuery = z.infer<typeof deadQueryShape>

export function matchesQuery(
  { limit: _, cursor: __, since, until, replayed, deliveryId, messageId, ...conditions }: DeadQuery,
  replayOf: (letter: DeadLetter) => unknown,
): (letter: DeadLetter) => boolean {
  const matches = matchesConditions(conditions)
  return (letter) =>
    isWithin(letter, { since, until }) &&
    (deliveryId ?? letter.deliveryId) === letter.deliveryId &&
    (messageId ?? letter.messageId) === letter.messageId &&
    matches(letter) &&
    (replayed === undefined || (replayOf(letter) !== undefined) === (replayed === 'true'))
}
