import { configureTopics } from '../../harness/kafka/partitions.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import type { PreparedSystem } from '../../harness/prepare.ts'
import { rungTopic } from '../../schemas/topics.ts'
import { MB } from './machine.ts'

/** Records written to all topics with this prefix. */
export async function recordsWritten({ connection }: PreparedSystem, topicPrefix: string): Promise<number> {
  const offsets = await withAdmin(connection, async (admin) => {
    const all = await admin.listTopics()
    const topics = all.filter((name) => name.startsWith(connection.named(topicPrefix)))
    return Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)))
  })
  return offsets.flat().reduce((sum, { high }) => sum + Number(high), 0)
}

/** The prefix of all rungs: deliveries that failed or were deferred. */
export const RUNGS = rungTopic('')

/** For long runs, which would fill the disk. `ms`: milliseconds. */
export const shortenRetention = (
  system: PreparedSystem,
  { topics, ms }: { topics: readonly string[]; ms: number },
) => alterTopics(system, topics, { 'retention.ms': String(ms), 'segment.bytes': String(64 * MB) })

/** Replaces all settings of these topics. */
export const alterTopics = (
  { connection }: PreparedSystem,
  topics: readonly string[],
  settings: Readonly<Record<string, string>>,
) => withAdmin(connection, (admin) => configureTopics(admin, topics.map(connection.named), settings))
