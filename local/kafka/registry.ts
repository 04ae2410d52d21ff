import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTopics } from '../../kafka/admin/topics.ts'
import { connect, type KafkaConfig } from '../../kafka/client.ts'
import { createLog, type Logger } from '../../process/log.ts'
import { LocalError } from '../errors.ts'
import { freePort } from '../ports.ts'
import { type Child, spawnChild } from '../processes/child-process.ts'
import { JavaOutput } from './java.ts'

export type RegistryOptions = {
  /** host:port list. */
  brokers: string
  java: string
  jar: string
  directory: string
  ensureJournal: (brokers: string) => Promise<unknown>
  port?: number
  jvmFlags?: readonly string[]
}

export type Registry = Child & {
  /** Base URL of Confluent's API, as in `SCHEMA_REGISTRY_URL`. */
  readonly url: string
  readonly port: number
  /** Restarts on the same port. */
  restart(): Promise<Registry>
}

const HOST = '127.0.0.1'
const START_LIMIT_MS = 60_000

/** @throws LocalError registry_start_failed */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  await options.ensureJournal(options.brokers)
  const port = options.port ?? (await freePort())
  const url = `http://${HOST}:${port}/apis/ccompat/v7`
  const output = new JavaOutput()
  const child = await launch(options, port, output)
  const ready = await Promise.race([answers(`${url}/subjects`), child.exited.then(() => false)])
  if (!ready) {
    await child.kill()
    throw new LocalError('registry_start_failed', `The schema registry did not start. ${output}`)
  }
  return { ...child, url, port, restart: () => startRegistry({ ...options, port }) }
}

async function launch(options: RegistryOptions, port: number, output: JavaOutput): Promise<Child> {
  await mkdir(options.directory, { recursive: true })
  const heap = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  return spawnChild(options.java, {
    args: [...heap, ...(options.jvmFlags ?? []), '-jar', options.jar],
    cwd: options.directory,
    env: { ...process.env, ...settings(options, port, await freePort(HOST, [port])) },
    onLine: (line) => output.add(line),
  })
}

function settings(
  { brokers, directory }: RegistryOptions,
  port: number,
  managementPort: number,
): NodeJS.ProcessEnv {
  return {
    APICURIO_STORAGE_KIND: 'kafkasql',
    APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: brokers,
    // with the default of 5000 a start takes 25 s
    APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT: '200',
    QUARKUS_HTTP_HOST: HOST,
    QUARKUS_HTTP_PORT: String(port),
    QUARKUS_HTTP_ACCESS_LOG_ENABLED: 'false',
    QUARKUS_MANAGEMENT_HOST: HOST,
    QUARKUS_MANAGEMENT_PORT: String(managementPort),
    QUARKUS_LOG_CONSOLE_LEVEL: 'ERROR',
    QUARKUS_LOG_FILE_ENABLE: 'true',
    QUARKUS_LOG_FILE_JSON: 'false',
    QUARKUS_LOG_FILE_PATH: join(directory, 'registry.log'),
    QUARKUS_LOG_FILE_ROTATION_MAX_FILE_SIZE: '5M',
    QUARKUS_LOG_FILE_ROTATION_MAX_BACKUP_INDEX: '2',
  }
}

async function answers(url: string): Promise<boolean> {
  for (const giveUp = Date.now() + START_LIMIT_MS; Date.now() < giveUp; await sleep(50)) {
    if (await isOk(url)) return true
  }
  return false
}

async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

/** The registry's storage topic, kept for ever. If the registry made it, it would lose its schemas after 7 days. */
export async function ensureJournal(kafka: KafkaConfig, log: Logger): Promise<void> {
  const config = { ...kafka, topicPrefix: '' } // the registry knows no prefix
  const connection = connect(config, { clientId: 'sluice-start', log })
  const journal = { name: 'kafkasql-journal', partitions: 1, retention: -1 } as const
  const { differences } = await createTopics(connection, [journal], config)
  for (const line of differences) log.warn(`topic differs: ${line}`)
}

/** For tests and benches: a copy on each broker. */
export function ensureTestJournal(list: string): Promise<void> {
  const brokers = list.split(',')
  const kafka = {
    brokers,
    ssl: false,
    sasl: undefined,
    topicPrefix: '',
    partitions: 1,
    replication: brokers.length,
  }
  return ensureJournal(kafka, createLog({ role: 'start', level: 'silent' }))
}
