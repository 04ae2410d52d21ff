import type { Admin, Consumer } from 'kafkajs'
import { CLOSE_MS, type Connection, within } from '../client.ts'
import type { Message } from '../consume/record.ts'
import { countSkippedBatch } from '../metrics.ts'
import { type BatchFault, batchFaultOf } from '../protocol/decode-batches.ts'

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
    const fault = batchFaultOf(message)
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

/** Ends the consumer of a group that committed nothing, with its admin client, in {@link CLOSE_MS} at most. */
export const leaveForGood = (
  group: { consumer: Consumer; admin: Admin; groupId: string },
  log: Connection['log'],
): Promise<void> => within(CLOSE_MS, leave(group, log))

async function leave(
  { consumer, admin, groupId }: { consumer: Consumer; admin: Admin; groupId: string },
  log: Connection['log'],
): Promise<void> {
  await consumer.disconnect()
  // without offsets the broker forgets it by itself as well
  await admin.deleteGroups([groupId]).catch((err) => log.debug({ err, groupId }, 'group not deleted'))
  await admin.disconnect()
}
