import type { Connection } from './client.ts'
import { type BatchFault, faultOf } from './decode-batches.ts'
import { countSkippedBatch } from './metrics.ts'
import type { Message } from './taken.ts'

/**
 * For those who only read: the records among these messages. Batches that cannot be decoded are logged and counted, and left out.
 * @param batch its topic as it is named on the broker.
 * @param onSkipped is told of each of them.
 */
export function readable(
  batch: { topic: string; partition: number; messages: Message[] },
  { log, plain }: Pick<Connection, 'log' | 'plain'>,
  onSkipped?: (fault: BatchFault) => void,
): Message[] {
  return batch.messages.filter((message) => {
    const fault = faultOf(message)
    if (!fault) return true
    const topic = plain(batch.topic)
    log.error(
      { topic, partition: batch.partition, ...fault },
      'a batch cannot be decoded; its records are skipped',
    )
    countSkippedBatch(topic)
    onSkipped?.(fault)
    return false
  })
}
