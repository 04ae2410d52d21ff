import type { PreparedSystem } from '../../harness/prepare.ts'
import { rungTopic } from '../../schemas/topics.ts'

/** @returns the number of records written to topics with this prefix. */
export async function recordsWritten({ connection }: PreparedSystem, topicPrefix: string): Promise<number> {
  const admin = connection.kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(connection.named(topicPrefix)))
  const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)))
  await admin.disconnect()
  return offsets.flat().reduce((sum, { high }) => sum + Number(high), 0)
}

/** The prefix of all rungs: deliveries that failed, or were deferred. */
export const RUNGS = rungTopic('')

/** @param metrics the text of /metrics. @returns the sum of a counter's samples with this label. */
export function countIn(metrics: string, name: string, label: string): number {
  const samples = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
