import { setTimeout as sleep } from 'node:timers/promises'
import { ROLES } from '../../config.ts'
import type { Cluster } from '../../local/cluster.ts'
import type { Brokers } from './brokers.ts'
import type { Instance } from './instances.ts'

/** Something that is done to the system; what is done resolves when it is whole again. */
export type Fault = { name: string; strike(): Promise<void> }

export type Parts = { cluster: Cluster; brokers: Brokers; instances: readonly Instance[] }

/** How long a killed broker is away. */
const AWAY_MS = 10_000
/** Between two ends of a rolling restart. */
const APART_MS = 2_000

/** Each kind of fault by itself, in this order. */
export function faults({ cluster, brokers, instances }: Parts): readonly Fault[] {
  const killed = new Set<number>()

  /** The one that leads the most partitions, of those that have not been killed yet. */
  async function killLeader(): Promise<void> {
    const leads = await brokers.leads()
    const [index = 0] = [...leads.keys()]
      .filter((each) => !killed.has(each))
      .sort((one, other) => (leads[other] ?? 0) - (leads[one] ?? 0))
    killed.add(index)
    process.stderr.write(`    broker ${index + 1}; they lead ${leads.join(', ')} partitions\n`)
    await cluster.nodes[index]?.kill()
    await sleep(AWAY_MS)
    await cluster.restart(index)
    await brokers.inSync()
  }

  async function rollBrokers(): Promise<void> {
    for (const index of cluster.nodes.keys()) {
      await cluster.nodes[index]?.stop(30_000)
      await cluster.restart(index)
      await brokers.inSync()
      await sleep(APART_MS)
    }
  }

  async function rollProcesses(): Promise<void> {
    for (const instance of instances) {
      await instance.restart('stop')
      await sleep(APART_MS)
    }
  }

  return [
    { name: 'nothing', strike: () => sleep(20_000) },
    ...cluster.nodes.map((_, index) => ({
      name: `SIGKILL of a broker, ${['first', 'second', 'third'][index]}`,
      strike: killLeader,
    })),
    { name: 'rolling restart of the brokers (SIGTERM)', strike: rollBrokers },
    { name: 'rolling restart of the processes (SIGTERM)', strike: rollProcesses },
    ...ROLES.map((role) => ({
      name: `SIGKILL of one ${role}, started again at once`,
      strike: async () => {
        await instances.find((instance) => instance.role === role)?.restart('kill')
        await sleep(10_000) // until its session has run out
      },
    })),
  ]
}
