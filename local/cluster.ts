import { join } from 'node:path'
import { type Broker, type BrokerOptions, startBroker } from './broker.ts'
import { newClusterId } from './broker-folder.ts'
import { freePort } from './free-port.ts'

export type ClusterOptions = Pick<BrokerOptions, 'directory' | 'java' | 'jars' | 'jvmFlags'> & {
  nodes: number
}

export type Cluster = {
  /** host:port of all, comma-separated. */
  readonly brokers: string
  /** In the order of their ids, which begin with 1. */
  readonly nodes: readonly Broker[]
  /** Starts a node again that has been killed or stopped. */
  restart(index: number): Promise<void>
  kill(): Promise<void>
}

/** Several brokers on this machine, each with a folder of its own under `directory`; topics have a copy on each. */
export async function startCluster({ nodes, directory, ...options }: ClusterOptions): Promise<Cluster> {
  const taken: number[] = []
  const take = async () => {
    const port = await freePort('127.0.0.1', taken)
    taken.push(port)
    return port
  }
  const voters: { id: number; controllerPort: number }[] = []
  for (let id = 1; id <= nodes; id++) voters.push({ id, controllerPort: await take() })
  const clusterId = newClusterId()
  const starting: Promise<Broker>[] = []
  for (const { id, controllerPort } of voters) {
    const own = { nodeId: id, controllerPort, port: await take(), directory: join(directory, String(id)) }
    starting.push(startBroker({ ...options, ...own, voters, clusterId }))
  }
  const brokers = await Promise.all(starting) // a node is up when most of them have found each other
  return {
    brokers: brokers.map((broker) => broker.brokers).join(','),
    nodes: brokers,
    restart: async (index) => {
      const ended = brokers[index]
      if (ended) brokers[index] = await ended.again()
    },
    kill: async () => {
      await Promise.all(brokers.map((broker) => broker.kill()))
    },
  }
}
