import { createTopics, onlyCopy } from '../kafka/admin/topics.ts'
import type { Connection, KafkaConfig } from '../kafka/client.ts'
import { ConfigError } from '../process/pem.ts'
import { type OnAway, openRegistry, type RegistryConfig, registerSchemas } from './registry.ts'
import { type Rung, topics } from './topics.ts'

/**
 * Creates what is missing of topics and schemas. Every process does so at its start; repeating it is harmless.
 * Topics that differ from the table are named in the log and left as they are, and so is a REPLICATION that risks what they hold.
 * @param onAway told while the schema registry is away, which is waited for.
 * @throws ConfigError when Kafka would delete records that are still needed.
 */
export async function prepare(
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
  for (const line of differences) connection.log.warn(`topic differs from its table: ${line}`)
  if (losing.length > 0) throw new ConfigError(losing)
  const risk = onlyCopy({ brokers, replication: config.kafka.replication })
  if (risk) connection.log.warn(risk)
  await registerSchemas(openRegistry(config.registry, { onAway }), table, connection.named)
}
