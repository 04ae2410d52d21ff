import type { Producer } from '../../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { batchesOf } from '../../../process/batches.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import { EMPTY_EVENT, eventRecord } from '../../../schemas/event-record.ts'
import type { Deletion } from '../../../schemas/task.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import type { ConfigKeys } from '../../../settings/seal.ts'
import type { Suppression } from '../../../settings/settings.ts'
import { hashedId, suppressionId } from '../../../settings/suppression-list.ts'
import { configRecord } from '../../settings/write.ts'
import type { IsStillOwned } from '../scheduler.ts'

export type DeletionParts = Suppressing & {
  producer: Pick<Producer, 'produce'>
  encode: Codec<Event>['encode']
}

/** Events in memory at a time. */
const AT_ONCE = 1_000

/**
 * Suppresses the users first: only calls already on their way may follow the deletion events.
 * @returns the finished deletion, without user ids; undefined if this process lost the task.
 * @throws if Kafka refuses or does not answer.
 */
export async function performDeletion(
  deletion: Deletion,
  isOwned: IsStillOwned,
  parts: DeletionParts,
): Promise<Deletion | undefined> {
  if (!(await suppressUsers(deletion, isOwned, parts))) return undefined
  for (const batch of batchesOf(deleteEvents(deletion), AT_ONCE)) {
    if (!(await isOwned())) return undefined
    const outcome = await parts.producer.produce(batch.map((event) => eventRecord(event, parts.encode)))
    if (outcome !== 'acked')
      throw new Error(`the events of deletion ${deletion.id} cannot be written: ${outcome}`)
  }
  return { ...deletion, state: 'done', userIds: [] }
}

export type Suppressing = {
  settings: Pick<Facts, 'suppressions'>
  writer: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
}

/** In one transaction, for which other writes wait. */
const SUPPRESSED_AT_ONCE = 500
/** Kafka takes 1 MB, and an id may be as long as a call. */
const BYTES = {
  most: 512 * 1024,
  of: (suppression: Suppression) => Buffer.byteLength(JSON.stringify(suppression)),
}

/** @returns false if this process lost the task. @throws if Kafka does not answer. */
async function suppressUsers(
  deletion: Deletion,
  isOwned: IsStillOwned,
  { settings, writer, keys }: Suppressing,
): Promise<boolean> {
  for (const batch of batchesOf(suppressionsOf(deletion), SUPPRESSED_AT_ONCE, BYTES)) {
    if (!(await isOwned())) return false
    const written = await writer.write(() => {
      const missing = batch.filter(({ id }) => !settings.suppressions.has(id))
      if (missing.length === 0) return { refusal: 'all are there' }
      return {
        records: missing.map((record) => configRecord({ kind: 'suppression', id: record.id, record }, keys)),
      }
    })
    if ('unavailable' in written) throw written.unavailable
  }
  return true
}

export function suppressionsOf({ suppressedFor, userIds, createdAt }: Deletion): Suppression[] {
  return suppressedFor.flatMap((sourceId) =>
    userIds.map((userId) => ({
      id: suppressionId({ sourceId, userId }),
      sourceId,
      userId,
      version: 1,
      updatedAt: createdAt,
    })),
  )
}

/**
 * One event per user and affected source. A repeated run makes the same ids, so the router drops its events as
 * duplicates. The salt keeps the ids secret. Otherwise, someone could send a call with such an id first, and the router
 * would drop the deletion.
 */
export function* deleteEvents({ id, userIds, sourceIds, createdAt, salt }: Deletion): Generator<Event> {
  const time = Date.parse(createdAt)
  const secret = salt === undefined ? [] : [salt]
  for (const sourceId of sourceIds)
    for (const userId of userIds)
      yield {
        ...EMPTY_EVENT,
        messageId: hashedId([id, sourceId, userId, ...secret]),
        sourceId,
        type: 'delete',
        userId,
        timestamp: time,
        receivedAt: time,
      }
}
