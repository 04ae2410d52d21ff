import type { Config } from '../config.ts'
import { createTopics } from '../kafka/admin.ts'
import type { Connection } from '../kafka/client.ts'
import { registerSchemas } from './registry.ts'
import { topics } from './topics.ts'

/**
 * Creates what is missing of topics and schemas. Every process does so at its start; repeating it is harmless.
 * Topics that differ from the table are named in the log and left as they are.
 */
export async function prepare(
  connection: Connection,
  config: Pick<Config, 'kafka' | 'registry' | 'delivery' | 'dedupWindowMs'>,
): Promise<void> {
  const table = topics({ ladder: config.delivery.ladder, dedupWindowMs: config.dedupWindowMs })
  for (const line of await createTopics(connection, table, config.kafka))
    connection.log.warn(`topic differs from its table: ${line}`)
  await registerSchemas(config.registry, table, connection.named)
}
