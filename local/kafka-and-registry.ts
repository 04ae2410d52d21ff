import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Logger } from '../process/log.ts'
import { type Archive, classArchive } from './archive.ts'
import { startBroker } from './broker.ts'
import { cacheFolder } from './cache.ts'
import { kafkaJars, registryApp } from './jars.ts'
import { findJava, type Java } from './java.ts'
import { ensureJournal } from './journal.ts'
import { keepRunning } from './keep.ts'
import type { KeptPorts } from './kept-ports.ts'
import { startRegistry } from './registry.ts'
import type { Say } from './say.ts'
import type { LocalSettings } from './settings.ts'

export type LocalOptions = {
  settings: LocalSettings
  ports: KeptPorts
  kafka: Config['kafka']
  /** Called when Kafka serves, while the registry still starts. */
  onKafka: () => Promise<void>
  /** Ends what was started, the registry before Kafka. */
  closing: AsyncDisposableStack
  ending: AbortSignal
  log: Logger
  say: Say
}

/** On two cores that do nothing else it takes less. */
const SLOW_MS = 15_000

type Tools = LocalOptions & { java: Java; cache: string; logs: string }

/**
 * Starts Kafka and the schema registry where the environment names none, and keeps them running.
 * @returns what can be made at leisure for a quicker next start
 * @throws LocalFault
 */
export async function startKafkaAndRegistry(options: LocalOptions): Promise<Archive[]> {
  const { settings, log, say } = options
  if (settings.kafkaBrokers && settings.registryUrl) return []
  const java = await findJava(settings.env)
  const cache = await cacheFolder(settings.env)
  const tools = { ...options, java, cache, logs: join(settings.dataFolder, 'logs') }
  await mkdir(tools.logs, { recursive: true })
  const jars = settings.kafkaBrokers ? undefined : await kafkaJars(cache, say.progress)
  const kafka = jars ? startKafka(tools, jars) : undefined
  const app = settings.registryUrl ? undefined : registryApp(cache, say.progress) // comes down while Kafka starts
  const journal = app && (kafka ?? Promise.resolve()).then(() => ensureJournal(options.kafka, log))
  const registry = app && journal && startLocalRegistry(tools, app, journal)
  const prepared = kafka && (journal ?? kafka).then(options.onKafka)
  const told = setTimeout(() => say.line(`still starting; see the logs in ${tools.logs}`), SLOW_MS)
  const started = Promise.all([kafka, registry, journal, prepared])
  const [kafkaArchive, registryArchive] = await started.finally(() => clearTimeout(told))
  return [kafkaArchive, registryArchive].filter((archive) => archive !== undefined)
}

async function startKafka({ java, cache, logs, ...options }: Tools, jars: string): Promise<Archive> {
  const classPath = join(jars, '*')
  const archive = await classArchive({
    java,
    cache,
    name: 'kafka',
    classPath,
    list: join(logs, 'kafka.classes'),
  })
  const broker = await startBroker({
    directory: join(options.settings.dataFolder, 'kafka'),
    logs,
    java: java.program,
    jars,
    port: options.ports.kafka,
    controllerPort: options.ports.controller,
    jvmFlags: archive.flags,
  })
  const kept = keepRunning({
    name: 'Kafka',
    first: broker,
    again: (ended) => ended.again(),
    log: options.log,
    ending: options.ending,
  })
  options.closing.defer(() => kept.stop(10_000))
  return archive
}

/** Beside Kafka's start when its journal is there from an earlier one; the first time it must find the journal made. */
async function startLocalRegistry(
  tools: Tools,
  app: Promise<string>,
  journal: Promise<void>,
): Promise<Archive> {
  const { java, cache, logs, settings, log, ending } = tools
  const jar = await app
  const archive = await classArchive({
    java,
    cache,
    name: 'registry',
    classPath: jar,
    list: join(logs, 'registry.classes'),
  })
  const hasJournal = existsSync(join(settings.dataFolder, 'kafka/data/kafkasql-journal-0'))
  const registry = await startRegistry({
    brokers: tools.kafka.brokers.join(','),
    java: java.program,
    jar,
    directory: logs,
    ensureJournal: async () => hasJournal || (await journal),
    port: tools.ports.registry,
    jvmFlags: archive.flags,
  })
  const kept = keepRunning({
    name: 'schema registry',
    first: registry,
    again: (ended) => ended.again(),
    log,
    ending,
  })
  tools.closing.defer(() => kept.stop(5_000))
  return archive
}
