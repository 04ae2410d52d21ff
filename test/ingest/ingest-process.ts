import { randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Config, readConfig } from '../../config.ts'
import { type Connection, connect } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { freePort } from '../../local/free-port.ts'
import { spawnTied, type Tied } from '../../local/tied.ts'
import { createLog } from '../../process/log.ts'
import { prepareKafka } from '../../schemas/prepare-kafka.ts'
import { sealRecord } from '../../settings/seal.ts'
import { CONFIG, type Source } from '../../settings/settings.ts'
import { NODE_FLAGS } from '../helpers/node-flags.ts'
import { planted } from '../helpers/planted.ts'

/** A system of its own on a shared broker: topics and schemas are there, with the sources given. */
export type System = { config: Config; connection: Connection; env: Record<string, string> }

export type SystemOptions = {
  brokers: string
  registryUrl: string
  sources: Pick<Source, 'id' | 'writeKey' | 'enabled'>[]
}

export async function prepareSystem({ brokers, registryUrl, sources }: SystemOptions): Promise<System> {
  const env = {
    KAFKA_BROKERS: brokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    TOPIC_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    CONFIG_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    INGEST_PORT: '0',
    KAFKAJS_NO_PARTITIONER_WARNING: '1',
    LOG_LEVEL: 'info',
  }
  const config = readConfig(env, 'ingest')
  const connection = connect(config.kafka, {
    clientId: 'test',
    log: createLog({ role: 'start', level: 'fatal' }),
  })
  await prepareKafka(connection, config, () => undefined)
  await putSources({ config, connection, env }, sources)
  return { config, connection, env }
}

/** Writes sources as control does: their secrets sealed. */
export async function putSources(
  { connection, config }: System,
  sources: SystemOptions['sources'],
): Promise<void> {
  const producer = await createProducer(connection)
  planted.given(sources)
  const records = sources.map((source) => {
    const owner = `source/${source.id}`
    const stored = { ...source, name: source.id, version: 1, updatedAt: '2026-01-01T00:00:00.000Z' }
    return { topic: CONFIG, key: owner, value: sealRecord(owner, stored, config.configKeys) }
  })
  const produced = await producer.produce(records)
  await producer.close()
  if (produced !== 'acked') throw new Error(`sources not written: ${produced}`)
}

export type IngestProcess = Tied & { url: string; opsUrl: string; output: readonly string[] }

const MAIN = fileURLToPath(new URL('../../ingest/main.ts', import.meta.url))

/** `node ingest/main.ts` as a process; @returns when it says that it is ready. */
export async function startIngest({ env }: Pick<System, 'env'>): Promise<IngestProcess> {
  const output: string[] = []
  const address = Promise.withResolvers<string>()
  planted.settings(env)
  const INGEST_METRICS_PORT = String(await freePort()) // of each process its own
  const tied = spawnTied(process.execPath, {
    args: [...NODE_FLAGS, MAIN],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...env,
      INGEST_METRICS_PORT,
    },
    onLine(line) {
      output.push(line)
      planted.heard(line)
      const found = /"address":"([^"]+)".*"msg":"ready"/.exec(line)?.[1]
      if (found) address.resolve(found)
    },
  })
  const url = await Promise.race([address.promise, tied.exited.then(() => undefined)])
  if (!url) throw new Error(`ingest ended at its start:\n${output.join('\n')}`)
  return { ...tied, url, opsUrl: `http://127.0.0.1:${INGEST_METRICS_PORT}`, output }
}
