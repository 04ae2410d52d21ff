import type { OutRecord } from '../../../kafka/produce/produce.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Sync } from '../../../schemas/task.ts'
import { MEMBERS, UPLOADS, VALUES } from '../../../schemas/topics.ts'
import { TaskFailed } from '../scheduler.ts'

/** Where it is kept what receivers were told last: one record a user. */
export const MEMBER_TOPICS = { audience: MEMBERS, trait: VALUES } as const

export const memberKey = ({ id }: Sync['of'], userId: string) => `${id}/${userId}`

/**
 * `since`: when the audience or trait was created. One that is made again under the same id has nothing to do with what is left of
 * the first, should a crash have left something.
 */
export const memberRecord = ({ userId, value }: Change, of: Sync['of'], since: string): OutRecord => ({
  topic: MEMBER_TOPICS[of.kind],
  key: memberKey(of, userId),
  value: value === null ? null : `{"since":${JSON.stringify(since)},"value":${value}}`,
})

/** @returns the value as JSON, undefined for what another of the same id has left. */
export function valueIn(record: Buffer, since: string): string | undefined {
  const text = record.toString()
  const before = `{"since":${JSON.stringify(since)},"value":`
  return text.startsWith(before) ? text.slice(before.length, -1) : undefined
}

/** Opens a reader of a topic, or gives the one that is open. */
export type Reading = { readerOf: (topic: string) => Promise<Pick<Reader, 'partitions' | 'bounds' | 'read'>> }

/** What was told of users, and what is said of them now: each user is in the same partition of both. */
export type Comparison = {
  /** The partitions in which there may be something to do. */
  partitions: readonly number[]
  /** Of one of them, in memory. @throws TaskFailed `upload_lost` */
  read(partition: number): Promise<PartitionComparison>
}

export type PartitionComparison = {
  /** By user: the value, as JSON, that receivers were told last. */
  current: Map<string, string>
  /** By user: what the upload says. */
  listed: Map<string, string | null>
  /** Lines of the upload: more of them than users where it names some twice, or Kafka was told twice. */
  lines: number
  /** Users of one that was removed, and has been made again under the same id or not. */
  leftovers: Set<string>
}

/**
 * @param since when the audience or trait was created; undefined: it is not there any more.
 * @throws TaskFailed `upload_lost`: whoever is not in what Kafka still has would pass for gone.
 */
export async function openComparison(
  sync: Sync,
  since: string | undefined,
  { readerOf }: Reading,
): Promise<Comparison> {
  const members = await readerOf(MEMBER_TOPICS[sync.of.kind])
  const uploads = await readerOf(UPLOADS)
  const prefix = Buffer.from(memberKey(sync.of, ''))
  const kept = await members.bounds()
  await expectWhole(sync.ranges, uploads)

  async function readTold(partition: number, comparison: PartitionComparison): Promise<void> {
    const { low = 0, high = 0 } = kept.get(partition) ?? {}
    await members.read({ partition, from: low, to: high }, (value, _, { key }) => {
      if (key?.subarray(0, prefix.length).equals(prefix))
        apply(comparison, { userId: key.toString('utf8', prefix.length), value, since })
    })
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

  return {
    // who is not named in one that says it of some is left as they are
    partitions: sync.others === 'stay' ? sync.ranges.map(({ partition }) => partition) : [...kept.keys()],
    async read(partition) {
      const comparison = { current: new Map(), listed: new Map(), lines: 0, leftovers: new Set<string>() }
      await Promise.all([readTold(partition, comparison), readUpload(partition, comparison)])
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

export const uploadLost = () =>
  new TaskFailed('upload_lost', `Kafka has not all of the upload any more (topic ${UPLOADS}): send it again`)

type Kept = { userId: string; value: Buffer | null; since: string | undefined }

function apply({ current, leftovers }: PartitionComparison, { userId, value, since }: Kept): void {
  current.delete(userId)
  leftovers.delete(userId)
  if (value === null) return
  const told = since === undefined ? undefined : valueIn(value, since)
  if (told === undefined) leftovers.add(userId)
  else current.set(userId, told)
}

/** What is known, or told, of one user: a value as JSON, or `null` for none. */
export type Change = { userId: string; value: string | null }

type Compared = {
  /** By user: what receivers were told last. */
  current: ReadonlyMap<string, string>
  /** By user: what the upload says. */
  listed: ReadonlyMap<string, string | null>
  others: Sync['others']
}

/** What is different in an upload from what was there; whoever is as before is left out (docs/users.md, "Tell of an audience"). */
export function* diff({ current, listed, others }: Compared): Generator<Change> {
  for (const [userId, value] of listed) if ((current.get(userId) ?? null) !== value) yield { userId, value }
  if (others !== 'removed') return
  for (const userId of current.keys()) if (!listed.has(userId)) yield { userId, value: null }
}

export function* readLines(value: Buffer): Generator<Change> {
  for (const line of value.toString().split('\n')) {
    // as written by `lineOf`
    const [userId, said] = JSON.parse(line) as [string, string | null]
    yield { userId, value: said }
  }
}
