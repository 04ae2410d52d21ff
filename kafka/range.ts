import type { Admin } from 'kafkajs'

/** Offsets of one partition: from the first to the one behind the last. */
export type Range = { partition: number; from: number; to: number }

/** Of each partition: the first offset that there still is, and the one behind its last record. */
export type BoundsOf = Map<number, { low: number; high: number }>

/** @param named the topic, with its prefix. Rejects when Kafka does not answer. */
export async function boundsOf(admin: Pick<Admin, 'fetchTopicOffsets'>, named: string): Promise<BoundsOf> {
  const found = await admin.fetchTopicOffsets(named)
  return new Map(
    found.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]),
  )
}
