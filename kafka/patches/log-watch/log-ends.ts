/**
 * Upstream: as requests.ts.
 * Without it: kafkajs's offsets stop at open transactions, and may come from a broker that is cut off from the others.
 * Until: as requests.ts; test/flow/kafka.log-loss.test.ts.
 */
import type { Connection } from '../../client.ts'
import { partitionKey } from '../../topic-partition.ts'
import { type Cluster, describe, openCluster } from '../cluster.ts'
import { type Broker, describeTopics, endsOfEpochs, type PartitionState, supportsEpochs } from './requests.ts'

/**
 * `end`: the offset after the last record of the leader's log. `start`: where the present leader epoch began; behind it,
 * nothing is left from earlier epochs. -1: the leader does not say, or it is the first epoch. `id`: of the topic.
 * `leader`: the broker's id.
 */
export type LogEnd = {
  topic: string
  id: string
  partition: number
  leader: number
  start: number
  end: number
}

/**
 * Asks all brokers for the leaders, because one that is cut off from the others still counts itself as leader.
 * @param topics as named on the broker.
 * @returns nothing if the brokers do not report leader epochs. `failed`: why some partitions are missing.
 */
export async function logEnds(
  connection: Pick<Connection, 'kafka'>,
  topics: readonly string[],
): Promise<{ ends: LogEnd[]; failed: unknown }> {
  const cluster = await openCluster(connection)
  try {
    const { brokers } = await describe(cluster)
    const described = await Promise.allSettled(
      brokers.map(async ({ nodeId }) => {
        const broker = await brokerOf(cluster, nodeId)
        return supportsEpochs(broker) ? describeTopics(broker, topics) : []
      }),
    )
    const states = new Map<string, State>()
    for (const { topic, id, partitions } of described.flatMap(fulfilled).flat())
      for (const state of partitions) {
        const key = partitionKey(topic, state.partition)
        if (state.epoch > (states.get(key)?.epoch ?? -1)) states.set(key, { topic, id, ...state })
      }
    const byLeader = Map.groupBy(states.values(), ({ leader }) => leader)
    const asked = await Promise.allSettled([...byLeader].map(([leader, its]) => endsAt(cluster, leader, its)))
    const failed = [...asked, ...described].find(({ status }) => status === 'rejected')
    return {
      ends: asked.flatMap(fulfilled).flat(),
      failed: failed && (failed as PromiseRejectedResult).reason,
    }
  } finally {
    await cluster.disconnect().catch(() => undefined)
  }
}

type State = { topic: string; id: string } & PartitionState

const fulfilled = <T>(settled: PromiseSettledResult<T>): T[] =>
  settled.status === 'fulfilled' ? [settled.value] : []

const brokerOf = async (cluster: Cluster, nodeId: number): Promise<Broker> => cluster.findBroker({ nodeId })

async function endsAt(cluster: Cluster, leader: number, states: readonly State[]): Promise<LogEnd[]> {
  if (leader < 0) throw new Error('a partition has no leader')
  const broker = await brokerOf(cluster, leader)
  const endsOf = (epochs: (state: State) => number) =>
    endsOfEpochs(
      broker,
      states.map((state) => ({ ...state, current: state.epoch, epoch: epochs(state) })),
    )
  const [ends, starts] = await Promise.all([endsOf(({ epoch }) => epoch), endsOf(({ epoch }) => epoch - 1)])
  const startOf = new Map(
    starts.map(({ topic, partition, end }) => [partitionKey(topic, partition), end] as const),
  )
  const idOf = new Map(states.map(({ topic, id }) => [topic, id]))
  return ends.flatMap(({ topic, partition, end }) => {
    const start = startOf.get(partitionKey(topic, partition)) ?? -1
    // some leaders know no epoch for an empty log
    return end < 0 ? [] : { topic, id: idOf.get(topic) ?? '', partition, leader, start, end }
  })
}
