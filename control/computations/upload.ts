import { partitionOf } from '../../kafka/partition.ts'
import type { Producer } from '../../kafka/produce.ts'
import type { Sync } from '../../schemas/task.ts'
import { UPLOADS } from '../../schemas/topics.ts'
import type { Change } from './diff.ts'
import { keptIn, memberKey } from './member.ts'
import type { Reading } from './sides.ts'
import { lineOf, uploadRecord } from './upload-record.ts'

export type UploadParts = Reading & { producer: Pick<Producer, 'produce'> }

/** What a record gets before it is written. */
const RECORD_CHARS = 64 * 1024

/** What is said of users, as it comes. */
export type Changes = AsyncIterable<readonly Change[]> | Iterable<readonly Change[]>

type Upload = { changes: Changes } & Pick<Sync, 'id' | 'of'>

/**
 * Puts an upload into Kafka as it comes, however long it is: each user into the partition in which is kept what was told of the user.
 * Nothing follows from it before a task names its ranges, so that one that breaks off changes nothing.
 * @throws what the changes throw, when they cannot be read or break off; and when Kafka refuses or does not answer.
 */
export async function upload(
  { changes, id, of }: Upload,
  { readerOf, producer }: UploadParts,
): Promise<Pick<Sync, 'ranges' | 'lines'>> {
  const uploads = await readerOf(UPLOADS)
  const { partitions } = await readerOf(keptIn[of.kind])
  if (uploads.partitions !== partitions)
    throw new Error(`topics ${UPLOADS} and ${keptIn[of.kind]} need as many partitions as each other`)
  const before = await uploads.bounds()
  const waiting = Array.from({ length: partitions }, () => ({ lines: [] as string[], chars: 0 }))
  let count = 0

  async function write(partition: number): Promise<void> {
    const lines = waiting[partition]?.lines ?? []
    waiting[partition] = { lines: [], chars: 0 }
    if (lines.length === 0) return
    const outcome = await producer.produce([uploadRecord(id, partition, lines)])
    if (outcome !== 'acked') throw new Error(`an upload cannot be written: ${outcome}`)
  }

  for await (const some of changes)
    for (const change of some) {
      const partition = partitionOf(Buffer.from(memberKey(of, change.userId)), partitions)
      const place = waiting[partition]
      if (!place) continue
      const line = lineOf(change)
      place.lines.push(line)
      place.chars += line.length
      count += 1
      if (place.chars > RECORD_CHARS) await write(partition)
    }
  for (const partition of waiting.keys()) await write(partition)
  return { ranges: await rangesSince(before, uploads), lines: count }
}

type Bounds = Awaited<ReturnType<Awaited<ReturnType<Reading['readerOf']>>['bounds']>>

async function rangesSince(before: Bounds, uploads: { bounds(): Promise<Bounds> }): Promise<Sync['ranges']> {
  return [...(await uploads.bounds())]
    .map(([partition, { high }]) => ({ partition, from: before.get(partition)?.high ?? 0, to: high }))
    .filter(({ from, to }) => from < to)
}
