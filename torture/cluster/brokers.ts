import type { Connection } from '../../kafka/client.ts'
import type { Cluster } from '../../local/cluster.ts'
import { until } from '../../test/helpers/until.ts'

/** What is asked of three brokers while one after the other goes. */
export type Brokers = {
  /** @returns by index (not id) of how many partitions each leads. */
  leads(): Promise<number[]>
  /** Resolves when each partition has all its copies in sync again. */
  inSync(): Promise<void>
  close(): Promise<void>
}

const SYNC_MS = 60_000

export async function watchBrokers(
  { kafka }: Pick<Connection, 'kafka'>,
  { nodes }: Pick<Cluster, 'nodes'>,
): Promise<Brokers> {
  const admin = kafka.admin()
  await admin.connect()
  const partitions = async () => {
    const { topics } = await admin.fetchTopicMetadata()
    return topics.flatMap((topic) => topic.partitions)
  }
  return {
    async leads() {
      const led = await partitions()
      return nodes.map((_, index) => led.filter(({ leader }) => leader === index + 1).length)
    },
    async inSync() {
      const isWhole = async () =>
        (await partitions()).every(({ isr, replicas }) => isr.length === replicas.length)
      await until(isWhole, { timeout: SYNC_MS, message: 'each partition has its copies in sync' })
    },
    close: () => admin.disconnect(),
  }
}
