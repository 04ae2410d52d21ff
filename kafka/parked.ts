import type { KafkaMessage } from 'kafkajs'
import { PARKED } from '../schemas/topics.ts'
import type { OutRecord } from './produce.ts'

/** A record that cannot be handled, as it goes to topic `parked`: key, value and headers as they were, and where from. */
export function parked(from: {
  topic: string
  partition: number
  offset: number
  message: KafkaMessage
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
