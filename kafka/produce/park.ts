import type { KafkaMessage } from 'kafkajs'
import type { Produced } from './pending.ts'
import type { OutRecord, Producer } from './produce.ts'

/** Records that could not be handled, byte for byte. */
export const PARKED = 'parked'

/** A record that is too large or refused is parked without its value; a header states the value's size. */
export async function park(producer: Pick<Producer, 'produce'>, record: OutRecord): Promise<Produced> {
  const outcome = await producer.produce([record])
  if (outcome !== 'too_large' && outcome !== 'refused') return outcome
  const bytes = record.value === null ? 0 : Buffer.byteLength(record.value)
  return producer.produce([
    { ...record, value: null, headers: { ...record.headers, 'parked-value-bytes': String(bytes) } },
  ])
}

/** @returns the record unchanged, plus headers with place and reason. */
export function parkedRecord(from: {
  topic: string
  partition: number
  offset: number
  message: Pick<KafkaMessage, 'key' | 'value' | 'headers'>
  reason: string
}): OutRecord {
  const { topic, partition, offset, message, reason } = from
  const headers = {
    ...message.headers,
    'parked-topic': topic,
    'parked-partition': String(partition),
    'parked-offset': String(offset),
    'parked-reason': reason.slice(0, 1_024),
  }
  return { topic: PARKED, key: message.key ?? `${topic}/${partition}`, value: message.value, headers }
}
