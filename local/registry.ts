import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LocalFault } from './fault.ts'
import { freePort } from './free-port.ts'
import { LastWords } from './last-words.ts'
import { spawnTied, type Tied } from './tied.ts'

export type RegistryOptions = {
  /** host:port list of the broker that is its store. */
  brokers: string
  java: string
  /** The jar that `registryApp` gives. */
  jar: string
  /** For its log. */
  directory: string
  /** Creates `kafkasql-journal` kept for ever: left to itself this registry forgets its schemas after 7 days. */
  ensureJournal: (brokers: string) => Promise<unknown>
  /** Default: a free one. */
  port?: number
  jvmFlags?: readonly string[]
}

export type Registry = Tied & {
  /** Confluent's API, as in `SCHEMA_REGISTRY_URL`. */
  readonly url: string
  readonly port: number
  /** Starts it again, once it has ended, on the same port. */
  again(): Promise<Registry>
}

const HOST = '127.0.0.1'
const START_LIMIT_MS = 60_000

/** Starts the schema registry and answers when it serves. @throws LocalFault registry_start_failed */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  await options.ensureJournal(options.brokers)
  const port = options.port ?? (await freePort())
  const url = `http://${HOST}:${port}/apis/ccompat/v7`
  const words = new LastWords()
  const tied = await launch(options, port, words)
  const ready = await Promise.race([answers(`${url}/subjects`), tied.exited.then(() => false)])
  if (!ready) {
    await tied.kill()
    throw new LocalFault('registry_start_failed', `The schema registry does not come up. ${words}`)
  }
  return { ...tied, url, port, again: () => startRegistry({ ...options, port }) }
}

async function launch(options: RegistryOptions, port: number, words: LastWords): Promise<Tied> {
  await mkdir(options.directory, { recursive: true })
  const heap = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  return spawnTied(options.java, {
    args: [...heap, ...(options.jvmFlags ?? []), '-jar', options.jar],
    cwd: options.directory,
    env: { ...process.env, ...settings(options, port, await freePort(HOST, [port])) },
    onLine: (line) => words.add(line),
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
    // with its default of 5 s the start takes 25 s
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

/** Whether the URL answered 200 within the limit. */
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
