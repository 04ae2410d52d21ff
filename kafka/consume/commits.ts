import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Consumer } from 'kafkajs'
import type { Connection } from '../client.ts'
import { type KnownLog, partitionKey } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch.ts'
import type { Tracker } from './tracker.ts'

/** What is settled of a partition. `topic` as named on the broker; `dirty`: since the last commit there is more. */
export type Uncommitted = {
  topic: string
  partition: number
  tracker: Pick<Tracker, 'position' | 'next'>
  dirty: boolean
}

/** @returns commits what is dirty; one commit at a time: a call during one waits for the next. */
export function committer({
  connection,
  groupId,
  consumer,
  known,
  dirty,
}: {
  connection: Pick<Connection, 'log'> & { failures: Pick<Connection['failures'], 'add'> }
  groupId: string
  consumer: Pick<Consumer, 'commitOffsets'>
  /** The log that a partition is read from. */
  known: LogWatch['known']
  /** What there is to commit now. */
  dirty: () => Uncommitted[]
}): () => Promise<void> {
  let committing: Promise<void> | undefined
  let failingSince: number | undefined

  /** Normal in a rebalance, which passes. */
  function failed(err: unknown): void {
    failingSince ??= performance.now()
    connection.log.debug({ err, groupId }, 'commit refused, the next one will carry it')
    const text = 'offsets cannot be committed'
    connection.failures.add({
      kind: `commit ${groupId}`,
      text,
      err,
      fields: { groupId },
      since: failingSince,
    })
  }

  async function commitNow(): Promise<void> {
    const held = dirty()
    if (held.length === 0) return
    for (const one of held) one.dirty = false
    const offsets = held.map(({ topic, partition, tracker }) => {
      const { offset, ahead } = tracker.position()
      const metadata = packSaid({ ahead, log: known(topic, partition), time: tracker.next().time })
      return { topic, partition, offset: String(offset), metadata }
    })
    try {
      await consumer.commitOffsets(offsets)
      failingSince = undefined
    } catch (error) {
      // refused in a rebalance, or Kafka is away: the next one carries the same
      for (const one of held) one.dirty = true
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

/**
 * Where a partition is read from: the committed offset, and what is settled ahead of it (tracker.ts). `log`: the one it is a place in;
 * `time`: of the last record that was read, ms since 1970. `foreign`: another tool has committed it, which says nothing of all that.
 * `lostFrom`: where the log was cut since, or began anew: what is known of this and later offsets is of records that are gone.
 */
export type Position = {
  offset: number
  ahead: string
  log?: KnownLog | undefined
  time?: number | undefined
  foreign?: boolean
  lostFrom?: number | undefined
}

type Said = Omit<Position, 'offset' | 'lostFrom'>

/**
 * The metadata of a commit: `s2:<topic id>.<leader epoch>.<time in base 36>:<ahead>`, or `s1:<ahead>` where the log is not known. At most
 * 4,096 characters, which is what Kafka takes.
 */
export function packSaid({ ahead, log, time }: Said): string {
  if (log) return `s2:${log.id}.${log.epoch}.${time?.toString(36) ?? ''}:${ahead}`
  return `s1:${ahead}`
}

/** What is not ours reads as `foreign`. */
export function unpackSaid(text: string): Said {
  const [, ahead] = /^s1:(.*)$/.exec(text) ?? []
  if (ahead !== undefined) return { ahead }
  // some brokers tell no epoch, and some writers no time: both are -1 then
  const [, id, epoch, time, bits] = /^s2:([\w-]{22})\.(-?\d+)\.(-?[0-9a-z]*):(.*)$/.exec(text) ?? []
  if (id === undefined) return { ahead: '', foreign: true }
  return {
    ahead: bits ?? '',
    log: { id, epoch: Number(epoch) },
    time: time ? Number.parseInt(time, 36) : undefined,
  }
}

export type CommittedOptions = {
  connection: {
    kafka: { admin(): Pick<Admin, 'connect' | 'fetchOffsets' | 'disconnect'> }
    log: Connection['log']
    failures: Pick<Connection['failures'], 'add'>
  }
  groupId: string
  /** As named on the broker. */
  topics: string[]
}

const RETRY_MS = 250

/** Reads what a group has committed; kafkajs keeps the metadata of its own commits to itself. */
export function committedBy({ connection, groupId, topics }: CommittedOptions) {
  const admin = connection.kafka.admin()
  let closed = false

  async function read(): Promise<Map<string, Position>> {
    await admin.connect()
    const offsets = await admin.fetchOffsets({ groupId, topics })
    return new Map(
      offsets.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata }) => [
          partitionKey(topic, partition),
          { offset: Math.max(0, Number(offset)), ...unpackSaid(metadata ?? '') },
        ]),
      ),
    )
  }

  return {
    /** By `partitionKey`. Asks until there is an answer, or it is closed. */
    async positions(): Promise<Map<string, Position>> {
      while (!closed) {
        try {
          return await read()
        } catch (error) {
          connection.log.debug({ err: error, groupId }, 'committed offsets cannot be read yet')
          await sleep(RETRY_MS)
        }
      }
      return new Map()
    },
    async close(): Promise<void> {
      closed = true
      await admin.disconnect().catch(() => undefined)
    },
  }
}
