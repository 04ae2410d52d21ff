import type { KafkaMessage } from 'kafkajs'
import type { OutRecord, Produced, Producer } from './produce.ts'

/** Records that could not be handled, byte for byte. */
export const PARKED = 'parked'

/** Header of a record that was written back to its topic (examples/read/parked.py): it is no duplicate of itself. */
export const PUT_BACK = 'put-back'

/**
 * A record that is too large or refused is parked without its value; if that fails too, without its key and headers.
 * Headers state the sizes. If no copy is written, the process ends, and reads the same record again when it starts.
 */
export async function park(producer: Pick<Producer, 'produce'>, record: OutRecord): Promise<Produced> {
  let outcome = await producer.produce([record])
  for (const smaller of [withoutValue, placeOnly]) {
    if (outcome !== 'too_large' && outcome !== 'refused') return outcome
    outcome = await producer.produce([smaller(record)])
  }
  return outcome
}

function withoutValue(record: OutRecord): OutRecord {
  const bytes = record.value === null ? 0 : Buffer.byteLength(record.value)
  return { ...record, value: null, headers: { ...record.headers, 'parked-value-bytes': String(bytes) } }
}

const PLACE = ['topic', 'partition', 'offset', 'reason', 'value-bytes'].map((name) => `parked-${name}`)

function placeOnly(record: OutRecord): OutRecord {
  const { headers = {} } = withoutValue(record)
  const place = Object.entries(headers).filter(([name]) => PLACE.includes(name))
  const key = `${headers['parked-topic']}/${headers['parked-partition']}`
  const keyBytes = String(Buffer.byteLength(record.key))
  return {
    ...record,
    key,
    value: null,
    headers: { ...Object.fromEntries(place), 'parked-key-bytes': keyBytes },
  }
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
