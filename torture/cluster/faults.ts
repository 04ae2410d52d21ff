import { setTimeout as sleep } from 'node:timers/promises'
import type { OwnCluster } from '../../harness/kafka/broker.ts'
import { endsOf, type Gone, goneBetween, imageOf } from '../../harness/kafka/disk.ts'
import type { Brokers } from '../../harness/kafka/partitions.ts'
import { ROLES } from '../../settings/config-key.ts'
import type { Instance } from './instances.ts'

/** `strike` resolves when the system is whole again. */
export type Fault = { name: string; strike(): Promise<void> }

export type Parts = {
  cluster: OwnCluster
  brokers: Brokers
  instances: readonly Instance[]
  /** The topic that loses records in a power cut, as named on the broker. */
  topic: string
  /** Gets the records that Kafka lost. */
  onGone: (gone: readonly Gone[]) => Promise<void>
}

/** How long a killed broker is down. */
const AWAY_MS = 10_000
/** How long a broker is silent with open connections, as if its machine were lost. */
const SILENT_MS = 30_000
/** The pause between two restarts. */
const APART_MS = 2_000
/** What is written in this time before the crash is lost. */
const LOST_MS = 3_000

/** Each kind alone, in this order. */
export function faults(parts: Parts): readonly Fault[] {
  const { cluster, instances } = parts
  const killed = new Set<number>()
  return [
    { name: 'nothing', strike: () => sleep(20_000) },
    ...cluster.nodes.map((_, index) => ({
      name: `SIGKILL of a broker, ${['first', 'second', 'third'][index]}`,
      strike: () => killLeader(parts, killed),
    })),
    { name: 'a broker is silent for 30 s (SIGSTOP)', strike: () => silenceLeader(parts) },
    { name: 'rolling restart of the brokers (SIGTERM)', strike: () => rollBrokers(parts) },
    { name: 'rolling restart of the processes (SIGTERM)', strike: () => rollProcesses(parts) },
    ...ROLES.map((role) => ({
      name: `SIGKILL of one ${role}, restarted at once`,
      strike: async () => {
        await instances.find((instance) => instance.role === role)?.restart('kill')
        await sleep(10_000) // until its session expires
      },
    })),
    { name: 'unclean leader election', strike: () => electUncleanly(parts) },
    { name: 'power cut of all brokers', strike: () => cutPower(parts) },
  ]
}

/** Kills a broker that was not killed before. */
async function killLeader({ cluster, brokers }: Parts, killed: Set<number>): Promise<void> {
  const index = await leader(brokers, killed)
  killed.add(index)
  await cluster.nodes[index]?.kill()
  await sleep(AWAY_MS)
  await cluster.restart(index)
  await brokers.inSync()
}

async function silenceLeader({ cluster, brokers }: Parts): Promise<void> {
  const pid = cluster.nodes[await leader(brokers, new Set())]?.pid
  if (pid === undefined) return
  process.kill(pid, 'SIGSTOP')
  await sleep(SILENT_MS)
  process.kill(pid, 'SIGCONT')
  await brokers.inSync()
}

/** The broker that leads the most partitions, except `without`. */
async function leader(brokers: Brokers, without: ReadonlySet<number>): Promise<number> {
  const leads = await brokers.leads()
  process.stderr.write(`    brokers lead ${leads.join(', ')} partitions\n`)
  const [index = 0] = [...leads.keys()]
    .filter((each) => !without.has(each))
    .sort((one, other) => (leads[other] ?? 0) - (leads[one] ?? 0))
  return index
}

async function rollBrokers({ cluster, brokers }: Parts): Promise<void> {
  for (const index of cluster.nodes.keys()) {
    await cluster.nodes[index]?.stop(30_000)
    await cluster.restart(index)
    await brokers.inSync()
    await sleep(APART_MS)
  }
}

async function rollProcesses({ instances }: Parts): Promise<void> {
  for (const instance of instances) {
    await instance.restart('stop')
    await sleep(APART_MS)
  }
}

/**
 * An unclean election: the topic gets two replicas, of which one is enough for a write. Only the first broker has the
 * last records. It is killed, and the second comes back and leads.
 */
async function electUncleanly({ cluster, brokers, topic, onGone }: Parts): Promise<void> {
  const [first = '', second = ''] = cluster.folders
  const giveBack = await brokers.weaken(topic, [1, 2])
  await cluster.nodes[1]?.kill()
  await sleep(LOST_MS)
  await cluster.nodes[0]?.kill()
  const gone = await goneBetween(await endsOf(first, [topic]), await endsOf(second, [topic]))
  await cluster.restart(1)
  await brokers.ledBy(topic, 2)
  await cluster.restart(0)
  await giveBack()
  await brokers.inSync()
  await onGone(gone)
}

/** Records that no disk has synced are lost, although all brokers had them. */
async function cutPower({ cluster, brokers, topic, onGone }: Parts): Promise<void> {
  const restores = await Promise.all(cluster.folders.map((folder) => imageOf(folder, [topic])))
  await sleep(LOST_MS)
  await Promise.all(cluster.nodes.map((node) => node.kill()))
  const gone = await Promise.all(restores.map((restore) => restore()))
  await Promise.all(cluster.nodes.map((_, index) => cluster.restart(index)))
  await brokers.inSync()
  await onGone(widest(gone.flat()))
}

/** The longest loss of each partition, as any replica may lead. */
function widest(gone: readonly Gone[]): Gone[] {
  const byPartition = new Map<number, Gone>()
  for (const one of gone) {
    const other = byPartition.get(one.partition) ?? one
    byPartition.set(one.partition, {
      ...one,
      from: Math.min(one.from, other.from),
      to: Math.max(one.to, other.to),
      values: new Map([...other.values, ...one.values]),
    })
  }
  return [...byPartition.values()]
}
