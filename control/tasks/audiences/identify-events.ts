import type { OutRecord, Producer } from '../../../kafka/produce/produce.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import { EMPTY_EVENT, eventRecord } from '../../../schemas/event-record.ts'
import type { Counts, Sync } from '../../../schemas/task.ts'
import type { Computation } from '../../../settings/settings.ts'
import { hashedId, type Users } from '../../../settings/suppression-list.ts'
import { type Change, memberRecord } from './comparison.ts'

export type WriteParts = {
  sync: Sync
  /** Asked when the events are written, before what was sent is stored. */
  mayStore: () => Promise<boolean>
  computation: Computation
  suppressed: Users | undefined
  producer: Pick<Producer, 'produce'>
  encode: Codec<Event>['encode']
}

/**
 * Writes events, then what was sent: a crash in between repeats events with the same id. Skips suppressed users: the
 * first sync after their suppression finds the difference.
 * @returns undefined if what was sent may not be stored.
 * @throws if Kafka refuses or does not answer.
 */
export async function writeChanges(
  changes: readonly Change[],
  { sync, mayStore, computation, suppressed, producer, encode }: WriteParts,
): Promise<Omit<Counts, 'unchanged'> | undefined> {
  const written = changes.filter(({ userId }) => !suppressed?.has(userId))
  await produceAll(
    producer,
    written.map((change) => eventRecord(identifyOf(change, sync, computation), encode)),
  )
  if (!(await mayStore())) return undefined
  await produceAll(
    producer,
    written.map((change) => memberRecord(change, sync.of, computation.createdAt)),
  )
  const removed = written.filter(({ value }) => value === null).length
  return { changed: written.length - removed, removed, suppressed: changes.length - written.length }
}

/** Sends no events: the resource was removed on purpose. @throws if Kafka refuses or does not answer. */
export const writeRemovals = (
  users: readonly string[],
  { of }: Pick<Sync, 'of'>,
  { producer }: Pick<WriteParts, 'producer'>,
) =>
  produceAll(
    producer,
    users.map((userId) => memberRecord({ userId, value: null }, of, '')),
  )

async function produceAll(producer: Pick<Producer, 'produce'>, records: readonly OutRecord[]): Promise<void> {
  const outcome = await producer.produce(records)
  if (outcome !== 'acked') throw new Error(`the records of a sync cannot be written: ${outcome}`)
}

/** Without a value, a member of an audience has `false`, a trait `null`. */
const GONE = { audience: 'false', trait: 'null' }

/**
 * The id is the same after a crash, so the router drops the duplicate. The salt keeps it secret, as in deletions.
 * Otherwise, someone with the view token could compute the id and search for it, and so for the user, without an audit
 * line.
 */
export function identifyOf(
  { userId, value }: Change,
  { of, id, createdAt, salt }: Sync,
  computation: Computation,
): Event {
  const time = Date.parse(createdAt)
  const secret = salt === undefined ? [] : [salt]
  const { key } = computation
  return {
    ...EMPTY_EVENT,
    messageId: hashedId([id, userId, ...secret]),
    sourceId: computation.sourceId,
    type: 'identify',
    userId,
    traits: `{${JSON.stringify(key)}:${value ?? GONE[of.kind]}}`,
    context: JSON.stringify({
      personas: { computation_class: of.kind, computation_id: of.id, computation_key: key },
    }),
    timestamp: time,
    receivedAt: time,
  }
}
