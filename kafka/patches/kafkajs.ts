import { createRequire } from 'node:module'
import type * as KafkaJs from 'kafkajs'
import type { Message, PartitionerArgs } from 'kafkajs'
import { batchesDecoder } from './decode-batches.ts'

const require = createRequire(import.meta.url)
const GROUPING = 'kafkajs/src/producer/groupMessagesPerPartition'

type Grouping = (
  of: Pick<PartitionerArgs, 'topic' | 'partitionMetadata'> & {
    messages: readonly Message[]
    partitioner: (args: PartitionerArgs) => number
  },
) => Record<number, Message[]>

/** kafkajs's own copies a partition's list for each message of it: a megabyte for 500 that go to one partition. */
export const group: Grouping = ({ topic, partitionMetadata, messages, partitioner }) => {
  const groups: Record<number, Message[]> = {}
  if (partitionMetadata.length === 0) return groups
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message })
    const others = groups[partition]
    if (others) others.push(message)
    else groups[partition] = [message]
  }
  return groups
}

const BATCHES = 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages'

/** As they were, for the tests that compare them with ours. */
export const theirGrouping: Grouping = require(GROUPING)
export const theirBatchesDecoder: ReturnType<typeof batchesDecoder> = require(BATCHES)

// before anything of kafkajs's is loaded that takes hold of them
const replaced = { [GROUPING]: group, [BATCHES]: batchesDecoder(theirBatchesDecoder) }
for (const [path, ours] of Object.entries(replaced)) {
  const loaded = require.cache[require.resolve(path)]
  if (loaded) loaded.exports = ours
}

/** The client, for this folder to import from here and nowhere else. */
const kafkajs: typeof KafkaJs = require('kafkajs')
export const {
  AssignerProtocol,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  PartitionAssigners,
} = kafkajs
