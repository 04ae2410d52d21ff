import { onlyCopy } from '../kafka/admin/topic-faults.ts'
import { createTopics } from '../kafka/admin/topics.ts'
import type { Connection, KafkaConfig } from '../kafka/client.ts'
import { ConfigError } from '../process/config-error.ts'
import { type OnAway, openRegistry, type RegistryConfig, registerSchemas } from './registry.ts'
import { type Rung, topics } from './topics.ts'

/**
 * Creates missing topics and registers schemas. Safe to repeat. Logs topics that differ from the table and leaves them
 * as they are.
 * @param onAway called while the schema registry is unreachable; the start waits for it.
 * @throws ConfigError when Kafka would delete records that are still needed.
 */
export async function prepareKafka(
  connection: Connection,
  config: {
    kafka: KafkaConfig
    registry: RegistryConfig
    delivery: { ladder: readonly Rung[]; windowMs: number }
    dedupWindowMs: number
  },
  onAway: OnAway,
): Promise<void> {
  const table = topics({ ...config.delivery, dedupWindowMs: config.dedupWindowMs })
  const { differences, losing, brokers } = await createTopics(connection, table, config.kafka)
  for (const line of differences) connection.log.warn(`topic differs from the table of topics: ${line}`)
  if (losing.length > 0) throw new ConfigError(losing)
  const risk = onlyCopy({ brokers, replication: config.kafka.replication })
  if (risk) connection.log.warn(risk)
  await registerSchemas(openRegistry(config.registry, { onAway }), table, connection.named)
}
