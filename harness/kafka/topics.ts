import { randomUUID } from 'node:crypto'
import pRetry from 'p-retry'
import type { Connection } from '../../kafka/client.ts'

/** `writtenAt`: ms since 1970, by the writer's clock. */
export type ReadRecord = {
  key: string
  value: Buffer
  partition: number
  offset: number
  writtenAt: number
  headers: Record<string, string>
}

/** All records of a topic up to its end now, by partition and offset. */
export async function readAll(from: Connection, topic: string): Promise<ReadRecord[]> {
  const found: ReadRecord[] = []
  await readEach(from, topic, (record) => void found.push(record))
  return found
}

/** One record at a time, for topics that do not fit in memory. */
export async function readEach(
  from: Connection,
  topic: string,
  onRecord: (record: ReadRecord) => void,
): Promise<void> {
  const ends = await withAdmin(from, (admin) => endsOf(admin, from.named(topic)))
  const consumer = from.kafka.consumer({ groupId: from.named(`read.${randomUUID()}`), maxWaitTimeInMs: 50 })
  const left = new Set(
    ends.filter(({ low, high }) => Number(high) > Number(low)).map(({ partition }) => partition),
  )
  if (left.size === 0) return
  await consumer.connect()
  await consumer.subscribe({ topics: [from.named(topic)], fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachBatch: async ({ batch: { partition, messages } }) => {
          for (const message of messages) onRecord(recordOf(message, partition))
          const last = Number(messages.at(-1)?.offset)
          if (last + 1 >= Number(ends.find((end) => end.partition === partition)?.high))
            left.delete(partition)
          if (left.size === 0) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
}

type Message = {
  key: Buffer | null
  value: Buffer | null
  offset: string
  timestamp: string
  headers?: Readonly<Record<string, unknown>>
}

function recordOf({ key, value, headers, offset, timestamp }: Message, partition: number): ReadRecord {
  return {
    key: String(key),
    value: value ?? Buffer.alloc(0),
    partition,
    offset: Number(offset),
    writtenAt: Number(timestamp),
    headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])),
  }
}

/** Sum of the end offsets. Each transaction adds a marker. */
export async function ended(connection: Connection, topic: string): Promise<number> {
  const ends = await withAdmin(connection, (admin) => endsOf(admin, connection.named(topic)))
  return ends.reduce((sum, { high }) => sum + Number(high), 0)
}

export async function lag(connection: Connection, of: { group: string; topic: string }): Promise<number> {
  const { named } = connection
  const [ends, committed] = await withAdmin(connection, async (admin) => [
    await endsOf(admin, named(of.topic)),
    await admin.fetchOffsets({ groupId: named(of.group), topics: [named(of.topic)] }),
  ])
  // -1: nothing is committed yet
  const done = new Map(
    committed[0]?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
  )
  return ends.reduce((sum, { partition, high }) => sum + Number(high) - (done.get(partition) ?? 0), 0)
}

export type Admin = ReturnType<Connection['kafka']['admin']>

/** A busy broker may not know yet that it leads a new topic. */
const endsOf = (admin: Admin, topic: string) =>
  pRetry(() => admin.fetchTopicOffsets(topic), { retries: 5, minTimeout: 50 })

export async function withAdmin<T>(
  { kafka }: Pick<Connection, 'kafka'>,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}

/**
 * Consumer groups whose names begin with `name`, as named on the broker. Retries, because a broker refuses to list
 * groups while it loads them, after it has started or created their topic.
 */
export async function groupsOf(
  connection: Pick<Connection, 'kafka' | 'named'>,
  name: string,
): Promise<string[]> {
  const { groups } = await withAdmin(connection, (admin) =>
    pRetry(admin.listGroups, { retries: 8, minTimeout: 50 }),
  )
  return groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(connection.named(name)))
}
