import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Sync } from '../../../schemas/task.ts'
import { MEMBERS, UPLOADS, VALUES } from '../../../schemas/topics.ts'
import { TaskFailed } from '../scheduler.ts'

/** What receivers were last sent: one record per user. */
export const MEMBER_TOPICS = { audience: MEMBERS, trait: VALUES } as const

export const memberKey = ({ id }: Sync['of'], userId: string) => `${id}/${userId}`

/** `since`: when the audience or trait was created. A later one with the same id ignores records left by a crash. */
export const memberRecord = ({ userId, value }: Change, of: Sync['of'], since: string): OutRecord => ({
  topic: MEMBER_TOPICS[of.kind],
  key: memberKey(of, userId),
  value: value === null ? null : `{"since":${JSON.stringify(since)},"value":${value}}`,
})

/** @returns JSON; undefined if an earlier resource with this id wrote it. */
export function valueIn(record: Buffer, since: string): string | undefined {
  const text = record.toString()
  const before = `{"since":${JSON.stringify(since)},"value":`
  return text.startsWith(before) ? text.slice(before.length, -1) : undefined
}

export type Reading = { readerOf: (topic: string) => Promise<Pick<Reader, 'partitions' | 'bounds' | 'read'>> }

/** The upload and what receivers were last sent have a user in the same partition. */
export type Comparison = {
  partitions: readonly number[]
  unchanged: readonly number[]
  /** Loads a partition into memory. @throws TaskFailed `upload_lost`, `partitions_changed` */
  read(partition: number): Promise<PartitionComparison>
}

export type PartitionComparison = {
  /** JSON, as receivers were last sent. */
  current: Map<string, string>
  listed: Map<string, string | null>
  /** More than users if the upload or Kafka repeats some. */
  lines: number
  /** Users of a removed resource with this id. */
  leftovers: Set<string>
}

/**
 * @param since when the audience or trait was created; undefined if it was removed.
 * @throws TaskFailed `upload_lost`: missing users would seem to have left.
 */
export async function openComparison(
  sync: Sync,
  since: string | undefined,
  { readerOf }: Reading,
): Promise<Comparison> {
  const members = await readerOf(MEMBER_TOPICS[sync.of.kind])
  const uploads = await readerOf(UPLOADS)
  const prefix = Buffer.from(memberKey(sync.of, ''))
  const { kept } = await samePartitions(sync.of, { members, uploads })
  await expectWhole(sync.ranges, uploads)

  async function readLastSent(partition: number, comparison: PartitionComparison): Promise<void> {
    const { low = 0, high = 0 } = kept.get(partition) ?? {}
    let isMisplaced = false
    await members.read({ partition, from: low, to: high }, (value, _, { key }) => {
      if (!key?.subarray(0, prefix.length).equals(prefix)) return
      isMisplaced ||= value !== null && partitionOf(key, kept.size) !== partition
      apply(comparison, { userId: key.toString('utf8', prefix.length), value, since })
    })
    if (isMisplaced) throw partitionsChanged(MEMBER_TOPICS[sync.of.kind])
  }

  async function readUpload(partition: number, comparison: PartitionComparison): Promise<void> {
    const ranges = sync.ranges.filter((range) => range.partition === partition)
    for (const range of ranges)
      await uploads.read(range, (value, _, { key }) => {
        if (!value || key?.toString() !== sync.id) return
        for (const line of readLines(value)) {
          comparison.listed.set(line.userId, line.value)
          comparison.lines += 1
        }
      })
    // it may have expired while it was read
    await expectWhole(ranges, uploads)
  }

  // users who are not named keep their value
  const named = new Set(sync.ranges.map(({ partition }) => partition))
  const hasChanges = (partition: number) => sync.others !== 'stay' || named.has(partition)
  return {
    partitions: [...kept.keys()].filter(hasChanges),
    unchanged: [...kept.keys()].filter((partition) => !hasChanges(partition)),
    async read(partition) {
      const comparison = { current: new Map(), listed: new Map(), lines: 0, leftovers: new Set<string>() }
      await Promise.all([readLastSent(partition, comparison), readUpload(partition, comparison)])
      return comparison
    },
  }
}

async function expectWhole(ranges: Sync['ranges'], uploads: Pick<Reader, 'bounds'>): Promise<void> {
  if (ranges.length === 0) return
  const bounds = await uploads.bounds()
  for (const { partition, from, to } of ranges) {
    const { low, high } = bounds.get(partition) ?? { low: 0, high: 0 }
    if (from < low || high < to) throw uploadLost()
  }
}

type Found = Pick<Reader, 'partitions' | 'bounds'>

/**
 * Both topics must have a user in the same partition. They may not if partitions were added to one of them, or after the
 * readers were opened.
 * @throws TaskFailed `partitions_changed`
 */
export async function samePartitions(
  { kind }: Pick<Sync['of'], 'kind'>,
  { members, uploads }: Record<'members' | 'uploads', Found>,
) {
  const [kept, uploaded] = await Promise.all([members.bounds(), uploads.bounds()])
  const numbers = [members.partitions, uploads.partitions, kept.size, uploaded.size]
  if (new Set(numbers).size > 1) throw partitionsChanged(`${UPLOADS} or ${MEMBER_TOPICS[kind]}`)
  return { kept, uploaded }
}

export const uploadLost = () =>
  new TaskFailed('upload_lost', `Kafka no longer has all of the upload (topic ${UPLOADS}): send it again`)

export const PARTITIONS_CHANGED = 'partitions_changed'

/** Users in another partition would seem to have left. */
const partitionsChanged = (topic: string) =>
  new TaskFailed(
    PARTITIONS_CHANGED,
    `The number of partitions of topic ${topic} has changed, so the last reported state of users cannot be found. No user is reported as gone. See docs/guides/partitions.md, "Audiences and traits"`,
  )

type Kept = { userId: string; value: Buffer | null; since: string | undefined }

function apply({ current, leftovers }: PartitionComparison, { userId, value, since }: Kept): void {
  current.delete(userId)
  leftovers.delete(userId)
  if (value === null) return
  const lastSent = since === undefined ? undefined : valueIn(value, since)
  if (lastSent === undefined) leftovers.add(userId)
  else current.set(userId, lastSent)
}

/** `value`: JSON; `null` for none. */
export type Change = { userId: string; value: string | null }

type Compared = {
  current: ReadonlyMap<string, string>
  listed: ReadonlyMap<string, string | null>
  others: Sync['others']
}

/** See docs/guides/audiences.md, "Sync an audience". */
export function* diff({ current, listed, others }: Compared): Generator<Change> {
  for (const [userId, value] of listed) if ((current.get(userId) ?? null) !== value) yield { userId, value }
  if (others !== 'removed') return
  for (const userId of current.keys()) if (!listed.has(userId)) yield { userId, value: null }
}

export function* readLines(value: Buffer): Generator<Change> {
  for (const line of value.toString().split('\n')) {
    // as written by `lineOf`
    const [userId, uploaded] = JSON.parse(line) as [string, string | null]
    yield { userId, value: uploaded }
  }
}
