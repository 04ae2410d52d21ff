import { randomBytes, randomUUID } from 'node:crypto'
import { type Config, readConfig } from '../config.ts'
import { type Connection, connect } from '../kafka/client.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { createLog } from '../process/log.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { keysFor, type Role } from '../settings/config-key.ts'
import { sealRecord } from '../settings/seal.ts'
import { CONFIG, type Source } from '../settings/settings.ts'
import { type Env, freePorts, type Launched, launch } from './launch.ts'
import type { Observer } from './system.ts'

/** Topics, schemas and settings on a shared broker, with their own prefix, for roles that start one by one. */
export type PreparedSystem = { config: Config; connection: Connection; env: Record<string, string> }

export type PreparedSource = Pick<Source, 'id' | 'writeKey' | 'enabled'>

export async function prepareSystem({
  brokers,
  registryUrl,
  sources,
}: {
  brokers: string
  registryUrl: string
  sources: readonly PreparedSource[]
}): Promise<PreparedSystem> {
  const env = {
    KAFKA_BROKERS: brokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    TOPIC_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    CONFIG_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    EGRESS_ALLOW: '127.0.0.0/8',
    KAFKAJS_NO_PARTITIONER_WARNING: '1',
    LOG_LEVEL: 'info',
  }
  const config = readConfig(env, 'ingest')
  const connection = connect(config.kafka, {
    clientId: 'test',
    log: createLog({ role: 'start', level: 'fatal' }),
  })
  await prepareKafka(connection, config, () => undefined)
  const system = { config, connection, env }
  await putSources(system, sources)
  return system
}

/** Resolves when it is ready. */
export async function startRole(
  role: Role,
  { env }: Pick<PreparedSystem, 'env'>,
  { settings = {}, observer }: { settings?: Env; observer?: Observer } = {},
): Promise<Launched> {
  const roleEnv = { ...env, ...(await freePorts()), ...settings }
  observer?.settings(roleEnv)
  const launched = launch(role, roleEnv, observer?.heard)
  await launched.ready()
  return launched
}

/** As control writes them, with sealed secrets. */
export const putSources = (system: PreparedSystem, sources: readonly PreparedSource[]): Promise<void> =>
  putRecords(
    system,
    sources.map((source) => ({ owner: `source/${source.id}`, record: { ...source, name: source.id } })),
  )

export type PreparedDestination = { id: string; sourceId: string; url: string }

export const SECRET = 'bench-secret'

/** As control writes them, each with one webhook. */
export const putDestinations = (
  system: PreparedSystem,
  destinations: readonly PreparedDestination[],
): Promise<void> =>
  putRecords(
    system,
    destinations.map(({ id, sourceId, url }) => ({
      owner: `destination/${id}`,
      record: {
        ...{ id, type: 'Webhooks', name: id, enabled: true, sourceIds: [sourceId] },
        webhooks: [{ url, headers: {} }],
        sharedSecret: SECRET,
      },
    })),
  )

async function putRecords(
  { connection, env }: PreparedSystem,
  records: readonly { owner: string; record: object }[],
): Promise<void> {
  const keys = keysFor('control', [{ whole: Buffer.from(env.CONFIG_KEY ?? '', 'base64') }], false)
  const producer = await createProducer(connection)
  const version = { version: 1, updatedAt: '2026-01-01T00:00:00.000Z' }
  const produced = await producer.produce(
    records.map(({ owner, record }) => ({
      topic: CONFIG,
      key: owner,
      value: sealRecord(owner, { ...record, ...version }, keys),
    })),
  )
  await producer.close()
  if (produced !== 'acked') throw new Error(`settings were not written: ${produced}`)
}
