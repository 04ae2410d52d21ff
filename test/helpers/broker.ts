import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archiveFlags } from '../../local/archive.ts'
import { type Broker, type BrokerOptions, startBroker } from '../../local/broker.ts'
import { cacheFolder } from '../../local/cache.ts'
import { type Cluster, startCluster } from '../../local/cluster.ts'
import { kafkaJars } from '../../local/jars.ts'
import { findJava } from '../../local/java.ts'
import { closing } from './cluster.ts'

/** A broker that a test may kill and start again, on the same port with the same data. */
export type OwnBroker = {
  now: Broker
  restart(how: 'kill' | 'stop'): Promise<void>
  /** Its folder goes with it. */
  close(): Promise<void>
}

/** One that is gone at the end of the test. */
export const ownBroker = async (): Promise<OwnBroker> => closing(await startOwnBroker())

/** @param more further doors of it. */
export async function startOwnBroker(
  more: Pick<BrokerOptions, 'port' | 'controllerPort' | 'more' | 'scram'> = {},
): Promise<OwnBroker> {
  const { folder, ...kafka } = await ownFolder()
  const own = {
    now: await startBroker({ directory: join(folder, 'kafka'), ...kafka, ...more }),
    async restart(how: 'kill' | 'stop') {
      await own.now[how]()
      own.now = await own.now.again()
    },
    async close() {
      await own.now.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return own
}

/** Three, with a copy of each topic on each; their folder goes with them. */
export async function startOwnCluster(): Promise<Cluster & { close(): Promise<void> }> {
  const { folder, ...kafka } = await ownFolder()
  const cluster = await startCluster({ nodes: 3, directory: folder, ...kafka })
  return {
    ...cluster,
    async close() {
      await cluster.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function ownFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const cache = await cacheFolder(process.env)
  const java = await findJava(process.env)
  return {
    folder,
    java: java.program,
    jars: await kafkaJars(cache, () => undefined),
    jvmFlags: await archiveFlags({ java, cache, name: 'kafka' }),
  }
}
