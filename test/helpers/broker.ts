import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Broker,
  type BrokerOptions,
  type Cluster,
  startBroker,
  startCluster,
} from '../../local/kafka/broker.ts'
import { archiveFlags } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { closing } from './cluster.ts'

/** A broker that a test may kill and start again, on the same port with the same data. */
export type OwnBroker = {
  now: Broker
  restart(how: 'kill' | 'stop'): Promise<void>
  /**
   * Remembers what the disk holds of these topics, as named on the broker. @returns what kills the broker, gives the disk back as it was, and
   * starts the broker again, as when power is lost before the rest was synced; it returns what is gone.
   */
  diskImage(topics: readonly string[]): Promise<() => Promise<OffsetRange[]>>
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
      own.now = await own.now.restart()
    },
    async diskImage(topics: readonly string[]) {
      const restore = await imageOf(join(folder, 'kafka'), topics)
      return async () => {
        await own.now.kill()
        const cuts = await restore()
        own.now = await own.now.restart()
        return cuts
      }
    },
    async close() {
      await own.now.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return own
}

/** Offsets of a partition, from `from` up to `to`, exclusive. */
export type OffsetRange = { topic: string; partition: number; from: number; to: number }

/**
 * Copies what a broker's folder holds of these topics.
 * @returns what puts it back as it was, while the broker is down, and returns what is gone by that (`topic`: as named on the broker).
 */
export async function imageOf(
  directory: string,
  topics: readonly string[],
): Promise<() => Promise<OffsetRange[]>> {
  const data = join(directory, 'data')
  const image = join(directory, `image-${randomUUID()}`)
  const names = await foldersOf(data, topics)
  for (const name of names) await cp(join(data, name), join(image, name), { recursive: true })
  return async () => {
    const before = await endsOf(directory, topics)
    for (const name of names) {
      await rm(join(data, name), { recursive: true })
      await cp(join(image, name), join(data, name), { recursive: true })
    }
    await rm(image, { recursive: true, force: true })
    return goneBetween(before, await endsOf(directory, topics))
  }
}

export type End = { topic: string; partition: number; end: number }

/** @returns where the partitions of these topics end on the disk of a broker that is down. */
export async function endsOf(directory: string, topics: readonly string[]): Promise<End[]> {
  const data = join(directory, 'data')
  const names = await foldersOf(data, topics)
  return Promise.all(
    names.map(async (name) => {
      const dash = name.lastIndexOf('-')
      const end = await endOf(join(data, name))
      return { topic: name.slice(0, dash), partition: Number(name.slice(dash + 1)), end }
    }),
  )
}

/** @returns what one log had, and the other one of the partition has not. */
export function goneBetween(before: readonly End[], after: readonly End[]): OffsetRange[] {
  return before.flatMap(({ topic, partition, end: to }) => {
    const from = after.find((each) => each.topic === topic && each.partition === partition)?.end ?? 0
    return from < to ? [{ topic, partition, from, to }] : []
  })
}

async function foldersOf(data: string, topics: readonly string[]): Promise<string[]> {
  return (await readdir(data)).filter((name) => topics.includes(name.replace(/-\d+$/, '')))
}

/** @returns the offset behind the last whole batch in a partition's folder. */
async function endOf(folder: string): Promise<number> {
  const last = (await readdir(folder))
    .filter((name) => name.endsWith('.log'))
    .sort()
    .at(-1)
  if (!last) return 0
  const bytes = await readFile(join(folder, last))
  let end = Number.parseInt(last, 10) // a segment is named after its first offset
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const next = at + 12 + bytes.readInt32BE(at + 8)
    if (next > bytes.length) break
    end = Number(bytes.readBigInt64BE(at)) + bytes.readInt32BE(at + 23) + 1
    at = next
  }
  return end
}
/** Of a record batch (https://kafka.apache.org/documentation/#recordbatch). */
const HEADER_BYTES = 61

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
