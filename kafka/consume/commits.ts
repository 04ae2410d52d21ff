import type { Consumer } from 'kafkajs'
import type { Connection } from '../client.ts'
import type { KnownLog } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch/watch.ts'
import type { TopicPartition } from '../topic-partition.ts'
import type { Tracker } from './tracker.ts'

/** `dirty`: see `Held`. */
export type Uncommitted = TopicPartition & {
  tracker: Pick<Tracker, 'position' | 'next'>
  dirty: boolean
}

export type CommitterParts = {
  connection: Pick<Connection, 'log'> & { failures: Pick<Connection['failures'], 'add'> }
  groupId: string
  consumer: Pick<Consumer, 'commitOffsets'>
  known: LogWatch['known']
  dirty: () => Uncommitted[]
}

/** @returns a function that commits what is dirty. A call during a commit waits and commits again. */
export function createCommitter({
  connection,
  groupId,
  consumer,
  known,
  dirty,
}: CommitterParts): () => Promise<void> {
  let committing: Promise<void> | undefined
  let failingSince: number | undefined

  /** Normal in a rebalance. */
  function failed(err: unknown): void {
    failingSince ??= performance.now()
    connection.log.debug({ err, groupId }, 'the commit was refused; the next one will include it')
    const text = 'offsets cannot be committed'
    const kind = `commit ${groupId}`
    connection.failures.add({ kind, text, err, fields: { groupId }, since: failingSince })
  }

  async function commitNow(): Promise<void> {
    const partitions = dirty()
    if (partitions.length === 0) return
    for (const each of partitions) each.dirty = false
    const offsets = partitions.map(({ topic, partition, tracker }) => {
      const { offset, ahead } = tracker.position()
      const metadata = packMetadata({ ahead, log: known(topic, partition), time: tracker.next().time })
      return { topic, partition, offset: String(offset), metadata }
    })
    try {
      await consumer.commitOffsets(offsets)
      failingSince = undefined
    } catch (error) {
      for (const each of partitions) each.dirty = true
      failed(error)
    }
  }

  return async () => {
    while (committing) await committing
    committing = commitNow().finally(() => {
      committing = undefined
    })
    await committing
  }
}

export type CommitMetadata = {
  /** Which later offsets are settled, see `packAhead`. */
  ahead: string
  log?: KnownLog | undefined
  /** Of the last record read, ms since 1970. */
  time?: number | undefined
  /** Whether another program wrote the commit. */
  foreign?: boolean
}

/** `s2:<topic id>.<leader epoch>.<time in base 36>:<ahead>`, or `s1:<ahead>` if the log is unknown. */
export function packMetadata({ ahead, log, time }: CommitMetadata): string {
  if (log) return `s2:${log.id}.${log.epoch}.${time?.toString(36) ?? ''}:${ahead}`
  return `s1:${ahead}`
}

export function unpackMetadata(text: string): CommitMetadata {
  const [, ahead] = /^s1:(.*)$/.exec(text) ?? []
  if (ahead !== undefined) return { ahead }
  // the epoch is -1 if the broker reports none; the time may be missing
  const [, id, epoch, time, bits] = /^s2:([\w-]{22})\.(-?\d+)\.(-?[0-9a-z]*):(.*)$/.exec(text) ?? []
  if (id === undefined) return { ahead: '', foreign: true }
  return {
    ahead: bits ?? '',
    log: { id, epoch: Number(epoch) },
    time: time ? Number.parseInt(time, 36) : undefined,
  }
}
