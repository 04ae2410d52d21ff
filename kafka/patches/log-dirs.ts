import { createRequire } from 'node:module'
import type { Connection } from '../client.ts'

const require = createRequire(import.meta.url)

/** A data folder of a broker, in bytes: what its disk has in all and free, and what each topic takes in it. */
export type LogDir = { total: number; free: number; topics: ReadonlyMap<string, number> }

/** By broker. Undefined: a broker does not tell (before Kafka 3.3, or we may not ask: `Describe` on the cluster is needed). */
export type LogDirs = readonly (readonly LogDir[])[]

export type LogDirReader = {
  /** @throws when a broker does not answer. */
  read(): Promise<LogDirs | undefined>
  close(): Promise<void>
}

/** What kafkajs has of a cluster; the version is pinned, and tests hold this against it. */
type Cluster = {
  connect(): Promise<void>
  disconnect(): Promise<void>
  metadata(of: { topics: string[] }): Promise<{ brokers: readonly { nodeId: number }[] }>
  findBroker(of: { nodeId: number }): Promise<Broker>
}
type Broker = {
  versions: Readonly<Record<number, { maxVersion: number }>>
  connectionPool: { send(protocol: object): Promise<LogDir[] | undefined> }
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
/** The first that tells of the disk (KIP-827). */
const VERSION = 4

const DecoderOf: new (answer: Buffer) => Decoder = require('kafkajs/src/protocol/decoder')
const Encoder: new () => {
  writeUVarIntBytes(): InstanceType<typeof Encoder>
} = require('kafkajs/src/protocol/encoder')

/** Asks each broker of the cluster; kafkajs does not know this request. */
export async function openLogDirs({ kafka }: Connection): Promise<LogDirReader> {
  const cluster = clusterOf(kafka)
  await cluster.connect()
  return {
    async read() {
      const { brokers } = await cluster.metadata({ topics: [] })
      const told = await Promise.all(
        brokers.map(async ({ nodeId }) => {
          const broker = await cluster.findBroker({ nodeId })
          if ((broker.versions[DESCRIBE_LOG_DIRS]?.maxVersion ?? 0) < VERSION) return undefined
          return broker.connectionPool.send(describeLogDirs)
        }),
      )
      const known = told.filter((dirs) => dirs !== undefined)
      return known.length === told.length ? known : undefined
    },
    close: () => cluster.disconnect(),
  }
}

function clusterOf(kafka: object): Cluster {
  const create = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  // kafkajs's own, of the pinned version
  return (kafka as Record<symbol, (options: object) => Cluster>)[create ?? Symbol()]?.({}) as Cluster
}

const describeLogDirs = {
  request: {
    apiKey: DESCRIBE_LOG_DIRS,
    apiVersion: VERSION,
    apiName: 'DescribeLogDirs',
    // of the header no tags, all topics, no tags
    encode: async () => new Encoder().writeUVarIntBytes().writeUVarIntBytes().writeUVarIntBytes(),
  },
  response: {
    decode: async (answer: Buffer) => ({ answer }),
    parse: async ({ answer }: { answer: Buffer }) => decodeLogDirs(answer),
  },
}

/** @returns undefined when the broker refuses to tell. A folder whose disk has failed is left out. */
export function decodeLogDirs(answer: Buffer): LogDir[] | undefined {
  const decoder = new DecoderOf(answer)
  decoder.readTaggedFields()
  decoder.readInt32() // how long the broker was throttling
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
  int64(decoder) // how far it is behind
  decoder.readBoolean() // a copy that is being moved here
  decoder.readTaggedFields()
  return size
}

/** Exact up to 2^53, as disks are. */
const int64 = (decoder: Decoder) => Number(decoder.readInt64().toString())
