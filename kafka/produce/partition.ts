const SEED = 0x9747b28c
const M = 0x5bd1e995

/** As in Kafka's Java client. kafkajs uses BigInt, which takes fifteen times as long. */
export function murmur2(data: Buffer): number {
  const whole = data.length & ~3
  let hash = SEED ^ data.length
  for (let at = 0; at < whole; at += 4) {
    const word = Math.imul(data.readInt32LE(at), M)
    hash = Math.imul(hash, M) ^ Math.imul(word ^ (word >>> 24), M)
  }
  if (whole < data.length) hash = Math.imul(hash ^ data.readUIntLE(whole, data.length - whole), M)
  hash = Math.imul(hash ^ (hash >>> 13), M)
  return hash ^ (hash >>> 15)
}

export function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count
}

/** `partition`: if the key does not decide it. `placed`: its partition in this attempt. */
export type Placeable = { key: Buffer; partition?: number; placed?: number | undefined }

/**
 * kafkajs asks again at each retry. If the topic has more partitions by then, the record could move to one that has
 * answered, and count as acknowledged unsent.
 */
export function place(record: Placeable, count: number): number {
  record.placed ??= record.partition ?? partitionOf(record.key, count)
  return record.placed
}
