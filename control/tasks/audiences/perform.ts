import type { Connection } from '../../../kafka/client.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { openReader, type Reader } from '../../../kafka/tables/reader.ts'
import type { Counts, Sync } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { ConfigKeys } from '../../../settings/seal.ts'
import type { Computation } from '../../../settings/settings.ts'
import type { Semaphore } from '../../api/concurrency.ts'
import { configRecord } from '../../settings/write.ts'
import type { IsOwned } from '../scheduler.ts'
import { diff, openComparison, type PartitionComparison, type Reading, uploadLost } from './comparison.ts'
import { type WriteParts, writeChanges, writeRemovals } from './identify-events.ts'

export type SyncParts = Reading &
  Pick<WriteParts, 'producer' | 'encode'> & {
    settings: Pick<Settings, 'audiences' | 'traits' | 'unreadable' | 'suppressedUsers' | 'table'>
    writer: Pick<FencedWriter, 'write'>
    keys: ConfigKeys
    /** Both sides of a partition are in memory for as long as one lasts. */
    semaphore: Semaphore
  }

/** Changes that are in memory as records at a time. */
const AT_ONCE = 1_000

/**
 * Compares an upload with what receivers were told last, one partition after the other, and tells them of the changes. It is over
 * when what it is of is removed. To be called for one sync of an audience or trait at a time.
 * @returns how it has ended; undefined when it was not owned to the end. @throws TaskFailed; and when Kafka refuses or does not answer.
 */
export async function performSync(sync: Sync, isOwned: IsOwned, parts: SyncParts): Promise<Sync | undefined> {
  // what another process has just made is not known here yet
  await parts.settings.table.caughtUp()
  const { kind, id } = sync.of
  // it is tried again: one that cannot be read is not one that is removed
  if (!recordOf(sync, parts) && parts.settings.unreadable.has(`${kind}/${id}`))
    throw new Error(`the settings of ${kind} ${id} cannot be read`)
  const since = sync.since ?? recordOf(sync, parts)?.createdAt
  const performing = { ...parts, sync, isOwned, computation: () => recordOf({ ...sync, since }, parts) }
  const counts = { changed: 0, removed: 0, unchanged: 0, suppressed: 0 }
  const comparison = await openComparison(sync, performing.computation()?.createdAt, parts)
  let lines = 0
  for (const partition of comparison.partitions) {
    const end = await parts.semaphore(async () => {
      if (!performing.computation() && sync.others !== 'forgotten') return 'cancelled'
      const read = await comparison.read(partition)
      lines += read.lines
      return compare(read, counts, performing)
    })
    if (end === 'cancelled') return { ...sync, state: end }
    if (end === 'given away') return undefined
  }
  // half of it has been told by now, but nobody is to take it for whole
  if (lines < sync.lines) throw uploadLost()
  return finished({ ...sync, state: 'done', counts }, performing)
}

type Performing = SyncParts & { sync: Sync; isOwned: IsOwned; computation: () => Computation | undefined }

/** Tells of what is different in a partition, and counts it. */
async function compare(
  comparison: PartitionComparison,
  counts: Counts,
  { sync, isOwned, computation, ...parts }: Performing,
): Promise<'told' | 'cancelled' | 'given away'> {
  for (const users of batches(comparison.leftovers)) {
    if (!isOwned()) return 'given away'
    await writeRemovals(users, sync, parts)
  }
  counts.unchanged += comparison.listed.size
  for (const changes of batches(diff({ ...comparison, others: sync.others }))) {
    if (!isOwned()) return 'given away'
    const now = computation()
    if (!now) return 'cancelled'
    const suppressed = parts.settings.suppressedUsers(now.sourceId)
    const told = await writeChanges(changes, { ...parts, sync, computation: now, suppressed })
    counts.changed += told.changed
    counts.removed += told.removed
    counts.suppressed += told.suppressed
    counts.unchanged -= changes.filter(({ userId }) => comparison.listed.has(userId)).length
  }
  return 'told'
}

function* batches<T>(items: Iterable<T>): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < AT_ONCE) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** What a sync is of, for as long as it is there and not another under the same id. */
function recordOf({ of, since }: Sync, { settings }: Pick<SyncParts, 'settings'>): Computation | undefined {
  const found = (of.kind === 'audience' ? settings.audiences : settings.traits).get(of.id)
  return since === undefined || found?.createdAt === since ? found : undefined
}

async function finished(
  sync: Sync,
  { isOwned, computation, writer, keys }: Performing,
): Promise<Sync | undefined> {
  if (!isOwned()) return undefined
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
  /** One for each topic, opened when it is first asked for. */
  readerOf: (topic: string) => Promise<Reader>
  close(): Promise<void>
}

/** Audiences and traits are not everybody's: who has none of them pays for no consumer. */
export function openReaders(connection: Connection, onFatal: (error: Error) => void): Readers {
  const open = new Map<string, Promise<Reader>>()
  return {
    readerOf(topic) {
      const reader = open.get(topic) ?? openReader({ connection, topic, onFatal })
      open.set(topic, reader)
      // what failed is tried anew
      reader.catch(() => open.delete(topic))
      return reader
    },
    async close() {
      await Promise.all(
        [...open.values()].map((reader) =>
          reader.then(
            (it) => it.close(),
            () => undefined,
          ),
        ),
      )
    },
  }
}
