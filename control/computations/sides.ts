import type { Reader } from '../../kafka/reader.ts'
import type { Sync } from '../../schemas/task.ts'
import { UPLOADS } from '../../schemas/topics.ts'
import { keptIn, memberKey, valueIn } from './member.ts'
import { readLines } from './upload-record.ts'

/** Opens a reader of a topic, or gives the one that is open. */
export type Reading = { readerOf: (topic: string) => Promise<Pick<Reader, 'partitions' | 'bounds' | 'read'>> }

export type PartitionSides = {
  /** By user: the value, as JSON, that receivers were told last. */
  current: Map<string, string>
  /** By user: what the upload says. */
  listed: Map<string, string | null>
  /** Users of one that was removed, and has been made again under the same id or not. */
  leftOver: Set<string>
}

/** The partitions in which there may be something to do. */
export async function partitionsOf({ of, others, ranges }: Sync, { readerOf }: Reading): Promise<number[]> {
  const named = ranges.filter(({ from, to }) => from < to).map(({ partition }) => partition)
  if (others === 'stay') return named
  const { partitions } = await readerOf(keptIn[of.kind])
  return Array.from({ length: partitions }, (_, partition) => partition)
}

/**
 * Both sides of one partition, in memory: a user is in the same one of both topics.
 * @param at.since when the audience or trait was created; undefined: it is not there any more.
 */
export async function readPartition(
  sync: Sync,
  at: { partition: number; since: string | undefined },
  { readerOf }: Reading,
): Promise<PartitionSides> {
  const sides: PartitionSides = { current: new Map(), listed: new Map(), leftOver: new Set() }
  const { partition } = at
  const members = await readerOf(keptIn[sync.of.kind])
  const { low = 0, high = 0 } = (await members.bounds()).get(partition) ?? {}
  const prefix = Buffer.from(memberKey(sync.of, ''))
  await members.read({ partition, from: low, to: high }, (value, _, { key }) => {
    if (key?.subarray(0, prefix.length).equals(prefix))
      apply(sides, { userId: key.toString('utf8', prefix.length), value, since: at.since })
  })
  const range = sync.ranges.find((each) => each.partition === partition)
  if (range && range.from < range.to)
    await (await readerOf(UPLOADS)).read(range, (value, _, { key }) => {
      if (value && key?.toString() === sync.id)
        for (const line of readLines(value)) sides.listed.set(line.userId, line.value)
    })
  return sides
}

type Kept = { userId: string; value: Buffer | null; since: string | undefined }

function apply({ current, leftOver }: PartitionSides, { userId, value, since }: Kept): void {
  current.delete(userId)
  leftOver.delete(userId)
  if (value === null) return
  const told = since === undefined ? undefined : valueIn(value, since)
  if (told === undefined) leftOver.add(userId)
  else current.set(userId, told)
}
