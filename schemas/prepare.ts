import { type Config, ConfigError } from '../config.ts'
import { createTopics, onlyCopy } from '../kafka/admin.ts'
import type { Connection } from '../kafka/client.ts'
import { type OnAway, openRegistry, registerSchemas } from './registry.ts'
import { topics } from './topics.ts'

/**
 * Creates what is missing of topics and schemas. Every process does so at its start; repeating it is harmless.
 * Topics that differ from the table are named in the log and left as they are, and so is a REPLICATION that risks what they hold.
 * @param onAway told while the schema registry is away, which is waited for.
 * @throws ConfigError when Kafka would delete records that are still needed.
 */
export async function prepare(
  connection: Connection,
  config: Pick<Config, 'kafka' | 'registry' | 'delivery' | 'dedupWindowMs'>,
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
