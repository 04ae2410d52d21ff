import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
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
  /**
   * Remembers what the disk holds of these topics, as named on the broker. @returns what kills the broker, gives the disk back as it was, and
   * starts the broker again: as when power is lost before the rest was synced.
   */
  diskImage(topics: readonly string[]): Promise<() => Promise<void>>
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
    async diskImage(topics: readonly string[]) {
      const restore = await imageOf(join(folder, 'kafka'), topics)
      return async () => {
        await own.now.kill()
        await restore()
        own.now = await own.now.again()
      }
    },
    async close() {
      await own.now.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return own
}

/**
 * Copies what a broker's folder holds of these topics.
 * @returns what puts it back, while the broker is down, as it was.
 */
export async function imageOf(directory: string, topics: readonly string[]): Promise<() => Promise<void>> {
  const data = join(directory, 'data')
  const image = join(directory, `image-${randomUUID()}`)
  const isOf = (name: string) => topics.includes(name.replace(/-\d+$/, ''))
  const names = (await readdir(data)).filter(isOf)
  for (const name of names) await cp(join(data, name), join(image, name), { recursive: true })
  return async () => {
    for (const name of names) {
      await rm(join(data, name), { recursive: true })
      await cp(join(image, name), join(data, name), { recursive: true })
    }
    await rm(image, { recursive: true })
  }
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
