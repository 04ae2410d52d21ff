import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import type { Connection } from './client.ts'

/** Where a partition is read from: the committed offset, and what is settled ahead of it (tracker.ts). */
export type Position = { offset: number; ahead: string }

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

export const partitionKey = (topic: string, partition: number) => `${topic}/${partition}`

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
          { offset: Math.max(0, Number(offset)), ahead: metadata ?? '' },
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
