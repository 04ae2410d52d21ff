import type { Consumer } from 'kafkajs'
import type { Connection } from './client.ts'
import { packSaid } from './committed.ts'
import type { LogWatch } from './log-watch.ts'
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
