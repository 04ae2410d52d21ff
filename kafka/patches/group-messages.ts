/**
 * Upstream: tulios/kafkajs#1576 (open), src/producer/groupMessagesPerPartition.js.
 * Without it: kafkajs copies a partition's list for each message: a megabyte of references for 500 messages.
 * Until: #1576 is in a release; test/kafka/group-messages.test.ts compares both.
 */
import type { Message, PartitionerArgs } from 'kafkajs'
import { replaceInternal } from './internals.ts'

/** A partitioner returns this to leave out a message. */
export const NOT_SENT = -1

type GroupMessages = (
  of: Pick<PartitionerArgs, 'topic' | 'partitionMetadata'> & {
    messages: readonly Message[]
    partitioner: (args: PartitionerArgs) => number
  },
) => Record<number, Message[]>

export const groupMessages: GroupMessages = ({ topic, partitionMetadata, messages, partitioner }) => {
  const groups: Record<number, Message[]> = {}
  if (partitionMetadata.length === 0) return groups
  for (const message of messages) {
    const partition = partitioner({ topic, partitionMetadata, message })
    if (partition === NOT_SENT) continue
    const group = groups[partition]
    if (group) group.push(message)
    else groups[partition] = [message]
  }
  return groups
}

export const originalGrouping = replaceInternal<GroupMessages>(
  'producer/groupMessagesPerPartition',
  () => groupMessages,
)
