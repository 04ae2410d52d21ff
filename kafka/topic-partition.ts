export type TopicPartition = { topic: string; partition: number }

/** Where a record is in its topic. */
export type PartitionOffset = { partition: number; offset: number }

export const partitionKey = (topic: string, partition: number) => `${topic}/${partition}`
