import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startBroker } from '../../local/kafka/broker.ts'
import { archiveFlags } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars, registryApp } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { ensureTestJournal, type Registry, startRegistry } from '../../local/kafka/registry.ts'
import { type Terminal, terminalOn } from '../../local/terminal.ts'
import { scratchFolder } from '../scratch.ts'

export type Stack = {
  brokers: string
  brokerPid: number
  registryUrl: string
  registryPid: number
} & AsyncDisposable

/** Called during downloads, which happen once. */
type OnProgress = Terminal['progress']

/** A broker and a registry for one bench. The broker runs as with Kafka's own start script. */
export async function startStack(): Promise<Stack> {
  const folder = await scratchFolder('bench')
  const { progress } = terminalOn(process.stderr)
  const { java, jars } = await kafkaFiles(progress)
  const broker = await startBroker({
    directory: join(folder, 'kafka'),
    java: java.program,
    jars,
    benchmark: true,
  })
  const registry = await startOwnRegistry(broker.brokers, folder, progress)
  return {
    brokers: broker.brokers,
    brokerPid: broker.pid,
    registryUrl: registry.url,
    registryPid: registry.pid,
    async [Symbol.asyncDispose]() {
      await Promise.all([registry.kill(), broker.kill()])
      await rm(folder, { recursive: true, force: true }) // the next bench needs the disk space
    },
  }
}

/**
 * For `startBroker` and `startCluster`. Downloads missing files.
 * @param folder for Java's temporary files, which a killed broker leaves.
 */
export async function kafkaParts(folder: string) {
  const { java, cache, jars } = await kafkaFiles(() => {})
  const archive = await archiveFlags({ java, cache, name: 'kafka' })
  return { java: java.program, jars, jvmFlags: [...archive, temporaryFiles(folder)] }
}

/** A flag of Java. */
export const temporaryFiles = (folder: string) => `-Djava.io.tmpdir=${folder}`

async function kafkaFiles(onProgress: OnProgress) {
  const java = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  return { java, cache, jars: await kafkaJars(cache, onProgress) }
}

/** Keeps a copy of its schemas on each of these brokers. */
export async function startOwnRegistry(
  brokers: string,
  folder: string,
  onProgress: OnProgress = () => {},
): Promise<Registry> {
  const java = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  return startRegistry({
    brokers,
    java: java.program,
    jar: await registryApp(cache, onProgress),
    directory: folder,
    ensureJournal: ensureTestJournal,
    jvmFlags: [...(await archiveFlags({ java, cache, name: 'registry' })), temporaryFiles(folder)],
  })
}
