import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import {
  type Broker,
  type BrokerOptions,
  type Cluster,
  startBroker,
  startCluster,
} from '../../local/kafka/broker.ts'
import { scratchFolder } from '../scratch.ts'
import { type Gone, imageOf } from './disk.ts'
import { kafkaParts } from './stack.ts'

/** Restarts on the same port with the same data. */
export type OwnBroker = {
  now: Broker
  /** @param awayMs how long it is down */
  restart(how: 'kill' | 'stop', awayMs?: number): Promise<void>
  /**
   * Copies these topics' logs (named as on the broker). @returns a function that restarts the broker on the copies, as
   * after a power cut, and returns the lost records
   */
  diskImage(topics: readonly string[]): Promise<() => Promise<Gone[]>>
  /** Also removes its folder. */
  close(): Promise<void>
}

export type OwnBrokerOptions = Pick<BrokerOptions, 'port' | 'controllerPort' | 'more' | 'scram'> & {
  /** Part of its folder's name. */
  purpose?: string
  /** Copies the format of this broker's directory, which saves a second of CPU. */
  formatOf?: string | undefined
}

export async function startOwnBroker(options: OwnBrokerOptions = {}): Promise<OwnBroker> {
  const { purpose = 'broker', formatOf, ...more } = options
  const folder = await scratchFolder(purpose)
  const directory = join(folder, 'kafka')
  if (formatOf !== undefined && !more.scram) await copyFormat(formatOf, directory)
  const current = {
    now: await startBroker({ directory, ...(await kafkaParts(folder)), ...more }),
    async restart(how: 'kill' | 'stop', awayMs = 0) {
      await current.now[how]()
      await sleep(awayMs)
      current.now = await startAgain(current.now)
    },
    async diskImage(topics: readonly string[]) {
      const restore = await imageOf(directory, topics)
      return async () => {
        await current.now.kill()
        const lost = await restore()
        current.now = await startAgain(current.now)
        return lost
      }
    },
    async close() {
      await current.now.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return current
}

async function copyFormat(from: string, to: string): Promise<void> {
  await mkdir(join(to, 'data'), { recursive: true })
  for (const name of ['meta.properties', 'bootstrap.checkpoint'])
    await copyFile(join(from, 'data', name), join(to, 'data', name))
}

/** Kafka may exit at its start on a machine short of CPU. */
const startAgain = (broker: Broker): Promise<Broker> =>
  pRetry(() => broker.restart(), {
    retries: 5,
    minTimeout: 500,
    onFailedAttempt: ({ error }) => void process.stderr.write(`    broker: ${error.message}\n`),
  })

export type OwnCluster = Cluster & {
  /** Each broker's data folder. */
  folders: readonly string[]
  /** Also removes their folders. */
  close(): Promise<void>
}

const NODES = 3

/** Three brokers with a copy of each topic. */
export async function startOwnCluster(): Promise<OwnCluster> {
  const folder = await scratchFolder('cluster')
  const cluster = await startCluster({ nodes: NODES, directory: folder, ...(await kafkaParts(folder)) })
  return {
    ...cluster,
    folders: Array.from({ length: NODES }, (_, index) => join(folder, String(index + 1))),
    async close() {
      await cluster.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
