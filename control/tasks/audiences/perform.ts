import { CLOSE_MS, type Connection } from '../../../kafka/client.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { openReader, type Reader } from '../../../kafka/tables/reader.ts'
import { batchesOf } from '../../../process/batches.ts'
import { within } from '../../../process/timeout.ts'
import type { Cause, Counts, Sync } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { ConfigKeys } from '../../../settings/seal.ts'
import type { Computation } from '../../../settings/settings.ts'
import type { Semaphore } from '../../api/concurrency.ts'
import { configRecord } from '../../settings/write.ts'
import type { IsStillOwned } from '../scheduler.ts'
import type { TaskIndex } from '../task-table.ts'
import {
  type Comparison,
  diff,
  openComparison,
  type PartitionComparison,
  type Reading,
  uploadLost,
} from './comparison.ts'
import { type WriteParts, writeChanges, writeRemovals } from './identify-events.ts'
import { countChanges, MANY_REMOVALS, manyRemovalsMessage, removesMany } from './preview.ts'

export type SyncParts = Reading &
  Pick<WriteParts, 'producer' | 'encode'> & {
    settings: Pick<Settings, 'audiences' | 'traits' | 'unreadable' | 'suppressedUsers' | 'table'>
    tasks: Pick<TaskIndex, 'syncs'>
    writer: Pick<FencedWriter, 'write'>
    keys: ConfigKeys
    semaphore: Semaphore
  }

/** Changes in memory at a time. */
const AT_ONCE = 1_000

/**
 * Writes the differences between an upload and what receivers were last sent. Stops if its audience or trait is
 * removed. Run one sync of each audience or trait at a time.
 * @returns the ended sync; undefined if this process lost the task.
 * @throws TaskFailed; or if Kafka refuses or does not answer.
 */
export async function performSync(
  sync: Sync,
  isOwned: IsStillOwned,
  parts: SyncParts,
): Promise<Sync | undefined> {
  // another process may just have created it
  await parts.settings.table.caughtUp()
  const { kind, id } = sync.of
  // unreadable is not removed: retry
  if (!recordOf(sync, parts) && parts.settings.unreadable.has(`${kind}/${id}`))
    throw new Error(`the settings of ${kind} ${id} cannot be read`)
  const since = sync.since ?? recordOf(sync, parts)?.createdAt
  const performing = { ...parts, sync, isOwned, computation: () => recordOf({ ...sync, since }, parts) }
  const counts = { changed: 0, removed: 0, unchanged: 0, suppressed: 0 }
  const comparison = await openComparison(sync, performing.computation()?.createdAt, parts)
  const cause = await removesTooMany(comparison, performing)
  if (cause) return { ...sync, state: 'cancelled', cause }
  let lines = 0
  for (const partition of comparison.partitions) {
    const end = await parts.semaphore(async () => {
      if (!performing.computation() && sync.others !== 'forgotten') return 'cancelled'
      const read = await comparison.read(partition)
      lines += read.lines
      return compare(read, counts, performing)
    })
    if (end === 'cancelled') return { ...sync, state: end }
    if (end === 'not owned') return undefined
  }
  // changes are written, but the sync is not complete
  if (lines < sync.lines) throw uploadLost()
  return finished({ ...sync, state: 'done', counts }, performing)
}

type Performing = SyncParts & {
  sync: Sync
  isOwned: IsStillOwned
  computation: () => Computation | undefined
}

/** A first sync is checked too: an earlier sync may have sent some users before it was cancelled. */
async function removesTooMany(
  comparison: Comparison,
  { sync, computation, settings, semaphore }: Performing,
): Promise<Cause | undefined> {
  const now = computation()
  if (!sync.refusesManyRemovals || !now) return undefined
  const suppressed = settings.suppressedUsers(now.sourceId)
  const counts = await countChanges(comparison, { others: sync.others, suppressed, semaphore })
  if (!removesMany(counts)) return undefined
  return { code: MANY_REMOVALS, message: manyRemovalsMessage(sync.of, counts) }
}

async function compare(
  comparison: PartitionComparison,
  counts: Counts,
  { sync, isOwned, computation, tasks, ...parts }: Performing,
): Promise<'sent' | 'cancelled' | 'not owned'> {
  const mayStore = async () => (await isOwned()) || isLastAndCancelled(sync, tasks)
  for (const users of batchesOf(comparison.leftovers, AT_ONCE)) {
    if (!(await isOwned())) return 'not owned'
    await writeRemovals(users, sync, parts)
  }
  counts.unchanged += comparison.listed.size
  for (const changes of batchesOf(diff({ ...comparison, others: sync.others }), AT_ONCE)) {
    if (!(await isOwned())) return 'not owned'
    const now = computation()
    if (!now) return 'cancelled'
    const suppressed = parts.settings.suppressedUsers(now.sourceId)
    const written = await writeChanges(changes, { ...parts, sync, mayStore, computation: now, suppressed })
    if (!written) return 'not owned'
    counts.changed += written.changed
    counts.removed += written.removed
    counts.suppressed += written.suppressed
    counts.unchanged -= changes.filter(({ userId }) => comparison.listed.has(userId)).length
  }
  return 'sent'
}

/**
 * Whether this process may store what a cancelled sync has sent: no process repeats such a sync. It may not if a later
 * sync is done, because that one may have sent something else while this process was paused.
 */
function isLastAndCancelled({ id, of, createdAt }: Sync, { syncs }: SyncParts['tasks']): boolean {
  if (syncs.get(id)?.state !== 'cancelled') return false
  const done = [...syncs.values()].filter(({ state }) => state === 'done')
  return !done.some((each) => each.of.kind === of.kind && each.of.id === of.id && each.createdAt > createdAt)
}

/** Undefined if the audience or trait was removed, or created again since. */
function recordOf({ of, since }: Sync, { settings }: Pick<SyncParts, 'settings'>): Computation | undefined {
  const found = (of.kind === 'audience' ? settings.audiences : settings.traits).get(of.id)
  return since === undefined || found?.createdAt === since ? found : undefined
}

async function finished(
  sync: Sync,
  { isOwned, computation, writer, keys }: Performing,
): Promise<Sync | undefined> {
  if (!(await isOwned())) return undefined
  const finishedAt = new Date().toISOString()
  const stamped = await writer.write(() => {
    const record = computation()
    if (!record || sync.others === 'forgotten') return { refusal: 'it is gone' }
    const { kind, id } = sync.of
    return { records: [configRecord({ kind, id, record: { ...record, lastSyncAt: finishedAt } }, keys)] }
  })
  if ('unavailable' in stamped) throw stamped.unavailable
  return { ...sync, finishedAt }
}

export type Readers = {
  readerOf: (topic: string) => Promise<Reader>
  close(): Promise<void>
}

/** Opens consumers only when needed. */
export function openReaders(connection: Connection, onFatal: (error: Error) => void): Readers {
  const open = new Map<string, Promise<Reader>>()
  return {
    readerOf(topic) {
      const reader = open.get(topic) ?? openReader({ connection, topic, onFatal })
      open.set(topic, reader)
      reader.catch(() => open.delete(topic))
      return reader
    },
    async close() {
      const closing = [...open.values()].map((reader) =>
        reader.then(
          (it) => it.close(),
          () => undefined,
        ),
      )
      // while Kafka is away, opening takes longer than a shutdown may
      await within(CLOSE_MS, Promise.all(closing))
    },
  }
}
