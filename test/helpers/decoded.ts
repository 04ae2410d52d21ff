import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import { inject } from 'vitest'
import { readConfig } from '../../config.ts'
import type { Connection } from '../../kafka/client.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { ATTEMPTS, DELIVERIES } from '../../schemas/topics.ts'
import { type ReadRecord, readAll } from './cluster.ts'
import type { System } from './system.ts'

export type Decoded = {
  key: string
  partition: number
  headers: Record<string, string>
  value: Record<string, unknown>
}

/** The current records of a topic, decoded like any other consumer does: with the registry's schemas, by the ids in the records. */
export async function readDecoded(connection: Connection, topic: string): Promise<Decoded[]> {
  const registry = new SchemaRegistry({ host: inject('registryUrl') })
  const records = await readAll(connection, topic)
  return Promise.all(
    records.map(async (record) => ({ ...record, value: await registry.decode(record.value) })),
  )
}

type ReadDelivery = Delivery & Pick<ReadRecord, 'writtenAt'>

/** All deliveries that were made, or that went to another topic, decoded with the deliverer's codec, because there may be many. */
export async function readDeliveries(
  { connection, env }: Pick<System, 'connection' | 'env'>,
  topic = DELIVERIES,
): Promise<ReadDelivery[]> {
  const registry = openRegistry(readConfig(env, 'deliverer').registry)
  const codec = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const deliveries: ReadDelivery[] = []
  for (const { value, writtenAt } of await readAll(connection, topic)) {
    const decoded = await codec.decode(value)
    if (!decoded.ok) throw new Error('a delivery cannot be decoded')
    deliveries.push({ ...decoded.value, writtenAt })
  }
  return deliveries
}

/** The current records of topic `attempts`, of all destinations or one. */
export async function readAttempts(
  { connection, env }: Pick<System, 'connection' | 'env'>,
  destination?: string,
): Promise<Attempt[]> {
  const registry = openRegistry(readConfig(env, 'deliverer').registry)
  const codec = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  const attempts: Attempt[] = []
  for (const { key, value } of await readAll(connection, ATTEMPTS)) {
    if (destination !== undefined && key !== destination) continue
    const decoded = await codec.decode(value)
    if (!decoded.ok) throw new Error('an attempt cannot be decoded')
    attempts.push(decoded.value)
  }
  return attempts
}
