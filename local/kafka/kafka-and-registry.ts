import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Logger } from '../../process/log.ts'
import type { KafkaPorts } from '../ports.ts'
import { keepRunning } from '../processes/supervise.ts'
import type { LocalSettings } from '../settings.ts'
import type { Terminal } from '../terminal.ts'
import { startBroker } from './broker.ts'
import { type ClassArchive, classArchive } from './class-archive.ts'
import { cacheFolder, createDownloads } from './downloads.ts'
import { findJava, type Java } from './java.ts'
import { ensureJournal, startRegistry } from './registry.ts'

export type LocalOptions = {
  settings: LocalSettings
  ports: KafkaPorts
  kafka: Config['kafka']
  /** The registry may still be starting. */
  onKafka: () => Promise<void>
  /** The registry stops before Kafka. */
  closing: AsyncDisposableStack
  ending: AbortSignal
  log: Logger
  terminal: Terminal
}

/** An idle machine with two cores needs less. */
const SLOW_MS = 15_000

type Tools = LocalOptions & { java: Java; cache: string; logs: string }

/**
 * Starts, and keeps running, what the environment does not name.
 * @returns class archives to make later, for a faster next start. @throws LocalError
 */
export async function startKafkaAndRegistry(options: LocalOptions): Promise<ClassArchive[]> {
  const { settings, log, terminal } = options
  if (settings.kafkaBrokers && settings.registryUrl) return []
  const java = await findJava(settings.env)
  const cache = await cacheFolder(settings.env)
  const tools = { ...options, java, cache, logs: join(settings.dataFolder, 'logs') }
  await mkdir(tools.logs, { recursive: true })
  const wanted = [
    ...(settings.kafkaBrokers ? [] : (['kafka'] as const)),
    ...(settings.registryUrl ? [] : (['registry'] as const)),
  ]
  const downloads = await createDownloads(cache, wanted, terminal.progress)
  const jars = settings.kafkaBrokers ? undefined : await downloads.kafkaJars()
  const kafka = jars ? startKafka(tools, jars) : undefined
  const app = settings.registryUrl ? undefined : downloads.registryApp() // downloads while Kafka starts
  const journal = app && (kafka ?? Promise.resolve()).then(() => ensureJournal(options.kafka, log))
  const registry = app && journal && startLocalRegistry(tools, app, journal)
  const prepared = kafka && (journal ?? kafka).then(options.onKafka)
  const slow = setTimeout(() => terminal.line(`still starting; see the logs in ${tools.logs}`), SLOW_MS)
  const started = Promise.all([kafka, registry, journal, prepared])
  const [kafkaArchive, registryArchive] = await started.finally(() => clearTimeout(slow))
  return [kafkaArchive, registryArchive].filter((archive) => archive !== undefined)
}

async function startKafka({ java, cache, logs, ...options }: Tools, jars: string): Promise<ClassArchive> {
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
    restart: (ended) => ended.restart(),
    log: options.log,
    ending: options.ending,
  })
  options.closing.defer(() => kept.stop(10_000))
  return archive
}

/** In parallel with Kafka, except on a first start, which has to make the journal. */
async function startLocalRegistry(
  tools: Tools,
  app: Promise<string>,
  journal: Promise<void>,
): Promise<ClassArchive> {
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
    restart: (ended) => ended.restart(),
    log,
    ending,
  })
  tools.closing.defer(() => kept.stop(5_000))
  return archive
}
