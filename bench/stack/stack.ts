import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startBroker } from '../../local/kafka/broker.ts'
import { cacheFolder, kafkaJars, registryApp } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { ensureTestJournal, startRegistry } from '../../local/kafka/registry.ts'
import { scratchFolder } from '../scratch.ts'

export type Stack = { brokers: string; brokerPid: number; registryUrl: string } & AsyncDisposable

/** A broker with the full compiler and 1 GB, and a registry, for one run; their data is thrown away. */
export async function startStack(): Promise<Stack> {
  const { program: java } = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  const progress = (text: string) => void process.stderr.write(`${text}\n`)
  const folder = await scratchFolder('bench')
  const jars = await kafkaJars(cache, progress)
  const broker = await startBroker({ directory: join(folder, 'kafka'), java, jars, benchmark: true })
  const jar = await registryApp(cache, progress)
  const registry = await startRegistry({
    brokers: broker.brokers,
    java,
    jar,
    directory: folder,
    ensureJournal: ensureTestJournal,
  })
  return {
    brokers: broker.brokers,
    brokerPid: broker.pid,
    registryUrl: registry.url,
    async [Symbol.asyncDispose]() {
      await Promise.all([registry.kill(), broker.kill()])
      await rm(folder, { recursive: true, force: true }) // the next bench needs the room
    },
  }
}
