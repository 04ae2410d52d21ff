import type { PreparedSystem } from '../../harness/prepare.ts'
import { MB } from './process.ts'

/** Shortens the retention of topics, so that a long run does not fill the disk. `ms`: milliseconds. */
export const keepLittle = (
  system: PreparedSystem,
  { topics, ms }: { topics: readonly string[]; ms: number },
) => alterTopics(system, topics, { 'retention.ms': String(ms), 'segment.bytes': String(64 * MB) })

export async function alterTopics(
  { connection }: PreparedSystem,
  topics: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const admin = connection.kafka.admin()
  await admin.connect()
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
  const resources = topics.map((topic) => ({ type: TOPIC, name: connection.named(topic), configEntries }))
  await admin.alterConfigs({ validateOnly: false, resources })
  await admin.disconnect()
}

/** Kafka's number for topics as a resource type. */
const TOPIC = 2
