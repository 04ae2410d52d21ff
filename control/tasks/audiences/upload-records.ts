import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { OutRecord, Producer } from '../../../kafka/produce/produce.ts'
import { withTimeout } from '../../../process/timeout.ts'
import type { Sync } from '../../../schemas/task.ts'
import { UPLOADS } from '../../../schemas/topics.ts'
import { CLIENT_WAIT_MS } from '../../api/concurrency.ts'
import { TaskFailed } from '../scheduler.ts'
import { type Change, MEMBER_TOPICS, memberKey, type Reading, samePartitions } from './comparison.ts'

export type UploadParts = Reading & { producer: Pick<Producer, 'produce'> }

/** A record is written once it has this size. */
const RECORD_CHARS = 64 * 1024

export class UploadUnavailable extends Error {}

export type Changes = AsyncIterable<readonly Change[]> | Iterable<readonly Change[]>

type Upload = { changes: Changes } & Pick<Sync, 'id' | 'of'>

/** Of one partition, not written yet. */
type Waiting = { lines: string[]; chars: number }

/**
 * Streams an upload into Kafka, with each user in the partition of what receivers were last sent. Has no effect until a
 * task names its ranges.
 * @throws UploadUnavailable if a client has to wait too long; TaskFailed `partitions_changed`; and whatever the changes
 * throw.
 */
export async function upload(
  { changes, id, of }: Upload,
  { readerOf, producer }: UploadParts,
): Promise<Pick<Sync, 'ranges' | 'lines'>> {
  const [uploads, members] = await answered(
    Promise.all([readerOf(UPLOADS), readerOf(MEMBER_TOPICS[of.kind])]),
  )
  const { partitions } = members
  const { uploaded: before } = await answered(samePartitions(of, { members, uploads }))
  const waiting: Waiting[] = Array.from({ length: partitions }, () => ({ lines: [], chars: 0 }))
  let count = 0

  async function write(partition: number): Promise<void> {
    const lines = waiting[partition]?.lines ?? []
    waiting[partition] = { lines: [], chars: 0 }
    if (lines.length === 0) return
    const outcome = await answered(producer.produce([uploadRecord(id, partition, lines)]))
    if (outcome !== 'acked') throw new UploadUnavailable(`an upload cannot be written: ${outcome}`)
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
  return { ranges: rangesBetween(before, await answered(uploads.bounds())), lines: count }
}

async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await withTimeout(work, CLIENT_WAIT_MS)
  } catch (cause) {
    if (cause instanceof TaskFailed) throw cause
    throw new UploadUnavailable('Kafka does not accept an upload', { cause })
  }
}

type Bounds = Awaited<ReturnType<Awaited<ReturnType<Reading['readerOf']>>['bounds']>>

const rangesBetween = (before: Bounds, after: Bounds): Sync['ranges'] =>
  [...after]
    .map(([partition, { high }]) => ({ partition, from: before.get(partition)?.high ?? 0, to: high }))
    .filter(({ from, to }) => from < to)

/** For one partition: on each line `[userId, value]`, the value as JSON or null. */
const uploadRecord = (id: Sync['id'], partition: number, lines: readonly string[]): OutRecord => ({
  topic: UPLOADS,
  key: id,
  partition,
  value: lines.join('\n'),
})

export const lineOf = ({ userId, value }: Change) => JSON.stringify([userId, value])
