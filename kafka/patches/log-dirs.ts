/**
 * Upstream: no issue; src/protocol/requests has no DescribeLogDirs (KIP-827).
 * Without it: Sluice cannot refuse calls or hold retries before disks are full (docs/decisions/021-room-in-kafka.md).
 * Until: kafkajs's admin client has `describeLogDirs`; test/kafka/storage.test.ts, "a broker's answer".
 */
import type { Connection } from '../client.ts'
import { describe, openCluster } from './cluster.ts'
import { internal } from './internals.ts'

/** In bytes. `total` and `free`: of the disk; `topics`: the size of each. */
export type LogDir = { total: number; free: number; topics: ReadonlyMap<string, number> }

/** By broker. */
export type LogDirs = readonly (readonly LogDir[])[]

export type LogDirReader = {
  /**
   * @returns undefined when a broker is older than Kafka 3.3, or the right to `Describe` the cluster is missing.
   * @throws when a broker does not answer.
   */
  read(): Promise<LogDirs | undefined>
  close(): Promise<void>
}

type Decoder = {
  readInt16(): number
  readInt32(): number
  readInt64(): { toString(): string }
  readBoolean(): boolean
  readUVarIntString(): string
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[]
  readTaggedFields(): unknown
}

const DESCRIBE_LOG_DIRS = 35
/** The first with disk sizes. */
const VERSION = 4

type Encoder = { writeUVarIntBytes(): Encoder }

const DecoderOf = internal<new (answer: Buffer) => Decoder>('protocol/decoder')
const EncoderOf = internal<new () => Encoder>('protocol/encoder')

export async function openLogDirs(connection: Connection): Promise<LogDirReader> {
  const cluster = await openCluster(connection)
  return {
    async read() {
      const { brokers } = await describe(cluster)
      const answers = await Promise.all(
        brokers.map(async ({ nodeId }) => {
          const broker = await cluster.findBroker({ nodeId })
          if ((broker.versions[DESCRIBE_LOG_DIRS]?.maxVersion ?? 0) < VERSION) return undefined
          const answer = await broker.connectionPool.send(describeLogDirs)
          return answer as LogDir[] | undefined // what `parse` below returns
        }),
      )
      const known = answers.filter((dirs) => dirs !== undefined)
      return known.length === answers.length ? known : undefined
    },
    close: () => cluster.disconnect(),
  }
}

const describeLogDirs = {
  request: {
    apiKey: DESCRIBE_LOG_DIRS,
    apiVersion: VERSION,
    apiName: 'DescribeLogDirs',
    // header without tags, all topics, no tags
    encode: async () => new EncoderOf().writeUVarIntBytes().writeUVarIntBytes().writeUVarIntBytes(),
  },
  response: {
    decode: async (answer: Buffer) => ({ answer }),
    parse: async ({ answer }: { answer: Buffer }) => decodeLogDirs(answer),
  },
}

/** @returns undefined when the broker refuses. Leaves out directories whose disk has failed. */
export function decodeLogDirs(answer: Buffer): LogDir[] | undefined {
  const decoder = new DecoderOf(answer)
  decoder.readTaggedFields()
  decoder.readInt32() // throttle time
  if (decoder.readInt16() !== 0) return undefined
  return decoder.readUVarIntArray(dirOf).filter((dir) => dir !== undefined)
}

function dirOf(decoder: Decoder): LogDir | undefined {
  const error = decoder.readInt16()
  decoder.readUVarIntString() // its path
  const topics = new Map(decoder.readUVarIntArray(topicOf))
  const [total, free] = [int64(decoder), int64(decoder)]
  decoder.readTaggedFields()
  return error === 0 && total > 0 && free >= 0 ? { total, free, topics } : undefined
}

function topicOf(decoder: Decoder): [string, number] {
  const name = decoder.readUVarIntString()
  const sizes = decoder.readUVarIntArray(sizeOf)
  decoder.readTaggedFields()
  return [name, sizes.reduce((sum, size) => sum + size, 0)]
}

function sizeOf(decoder: Decoder): number {
  decoder.readInt32() // the partition
  const size = int64(decoder)
  int64(decoder) // lag of the replica
  decoder.readBoolean() // whether the replica is being moved here
  decoder.readTaggedFields()
  return size
}

/** Exact up to 2^53. */
const int64 = (decoder: Decoder) => Number(decoder.readInt64().toString())
