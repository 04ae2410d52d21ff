import type { PreparedSystem } from '../../harness/prepare.ts'
import { rungTopic } from '../../schemas/topics.ts'

/** How many records have been written to topics whose name begins so. */
export async function recordsWritten({ connection }: PreparedSystem, topicPrefix: string): Promise<number> {
  const admin = connection.kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(connection.named(topicPrefix)))
  const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)))
  await admin.disconnect()
  return offsets.flat().reduce((sum, { high }) => sum + Number(high), 0)
}

/** Of any rung: deliveries that failed, or were put off without an attempt. */
export const RUNGS = rungTopic('')

/** Sum of a counter's samples that have this label. @param metrics as /metrics answers. */
export function countIn(metrics: string, name: string, label: string): number {
  const samples = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
