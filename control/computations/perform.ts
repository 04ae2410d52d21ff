import type { FencedWriter } from '../../kafka/fenced.ts'
import type { OutRecord, Producer } from '../../kafka/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { eventRecord } from '../../schemas/event-record.ts'
import type { Settings } from '../../schemas/follow.ts'
import type { Keys } from '../../schemas/seal.ts'
import type { Computation } from '../../schemas/settings.ts'
import type { Counts, Sync } from '../../schemas/task.ts'
import { configRecord } from '../record.ts'
import { taskRecord } from '../tasks/record.ts'
import type { Owned } from '../tasks/run.ts'
import { type Change, diff } from './diff.ts'
import { identifyOf } from './identify.ts'
import { memberRecord } from './member.ts'
import { partitionsOf, type Reading, readPartition } from './sides.ts'

export type SyncParts = Reading & {
  settings: Pick<Settings, 'audiences' | 'traits' | 'suppressedUsers'>
  writer: Pick<FencedWriter, 'write'>
  keys: Keys
  producer: Pick<Producer, 'produce'>
  encode: Codec<Event>['encode']
  tasks: Pick<FencedWriter, 'write'>
}

/** Changes that are in memory as records at a time. */
const AT_ONCE = 1_000

/**
 * Compares an upload with what receivers were told last, one partition after the other, and tells them of the changes. That a user
 * was told is written when the event is in Kafka: killed in between, the user is told again, with the same message id.
 * @throws when Kafka refuses or does not answer.
 */
export async function performSync(sync: Sync, owned: Owned, parts: SyncParts): Promise<void> {
  const { audiences, traits } = parts.settings
  const computation = (sync.of.kind === 'audience' ? audiences : traits).get(sync.of.id)
  const isCancelled = computation === undefined && sync.others !== 'forgotten'
  const counts = { changed: 0, removed: 0, unchanged: 0, suppressed: 0 }
  for (const partition of isCancelled ? [] : await partitionsOf(sync, parts)) {
    const sides = await readPartition(sync, { partition, since: computation?.createdAt }, parts)
    const changes = [...diff({ ...sides, others: sync.others })]
    counts.unchanged += sides.listed.size - changes.filter(({ userId }) => sides.listed.has(userId)).length
    await forget(sides.leftOver, sync, parts)
    for (let first = 0; computation && first < changes.length; first += AT_ONCE) {
      if (!owned()) return
      await tell(changes.slice(first, first + AT_ONCE), { sync, computation, counts, parts })
    }
  }
  if (!owned()) return
  await finish(isCancelled ? { ...sync, state: 'cancelled' } : { ...sync, state: 'done', counts }, parts)
}

/** Of users of one that is gone nobody is told: whoever removed it knows. */
async function forget(users: ReadonlySet<string>, { of }: Sync, { producer }: SyncParts): Promise<void> {
  const all = [...users]
  for (let first = 0; first < all.length; first += AT_ONCE)
    await written(
      producer,
      all.slice(first, first + AT_ONCE).map((userId) => memberRecord({ userId, value: null }, of, '')),
    )
}

type Telling = { sync: Sync; computation: Computation; counts: Counts; parts: SyncParts }

async function tell(
  changes: readonly Change[],
  { sync, computation, counts, parts }: Telling,
): Promise<void> {
  const suppressed = parts.settings.suppressedUsers(computation.sourceId)
  const events: OutRecord[] = []
  const kept: OutRecord[] = []
  for (const change of changes) {
    const isSuppressed = suppressed?.has(change.userId) ?? false
    if (isSuppressed) counts.suppressed += 1
    else counts[change.value === null ? 'removed' : 'changed'] += 1
    if (!isSuppressed) events.push(eventRecord(identifyOf(change, sync, computation), parts.encode))
    // when the suppression ends, the next sync tells of the user
    if (!isSuppressed || change.value === null)
      kept.push(memberRecord(change, sync.of, computation.createdAt))
  }
  await written(parts.producer, events)
  await written(parts.producer, kept)
}

async function written(producer: Pick<Producer, 'produce'>, records: readonly OutRecord[]): Promise<void> {
  const outcome = await producer.produce(records)
  if (outcome !== 'acked') throw new Error(`what a sync comes to cannot be written: ${outcome}`)
}

async function finish(sync: Sync, { settings, writer, keys, tasks }: SyncParts): Promise<void> {
  const finishedAt = new Date().toISOString()
  const { kind, id } = sync.of
  const all = kind === 'audience' ? settings.audiences : settings.traits
  const stamped = await writer.write(() => {
    const record = all.get(id)
    if (!record || sync.others === 'forgotten') return { refusal: 'it is gone' }
    return { records: [configRecord({ kind, id, record: { ...record, lastSyncAt: finishedAt } }, keys)] }
  })
  if ('unavailable' in stamped) throw stamped.unavailable
  const done = await tasks.write(() => ({ records: [taskRecord({ ...sync, finishedAt })] }))
  if ('unavailable' in done) throw done.unavailable
}
