import type { FetchPosition, KnownLog } from '../../log-faults.ts'
import { partitionKey, type TopicPartition } from '../../topic-partition.ts'
import type { Cluster } from './fetches.ts'
import { describeTopics, endsOfEpochs, type PartitionState, supportsEpochs } from './requests.ts'

type State = TopicPartition & { id: string } & PartitionState
/** `log`: the one that the position belongs to, if known. */
export type Checked = TopicPartition & { position: FetchPosition; log: KnownLog | undefined }
/** `epochEnd`: see `judge`. */
export type Compared = { now: State; at: Checked; epochEnd: number | undefined }

/** A broker that is cut off reports old epochs. If this lasts longer, the cluster was restored. */
const BEHIND_MS = 30_000

export class LogStates {
  cluster: Cluster | undefined
  #behindSince: number | undefined

  /** @returns the logs with a leader; undefined when the brokers are too old to report epochs. */
  async compare(positions: readonly Checked[]): Promise<Compared[] | undefined> {
    const states = await this.#describe([...new Set(positions.map(({ topic }) => topic))])
    if (!states) return undefined
    const pairs = positions.flatMap((at) => {
      const now = states.get(partitionKey(at.topic, at.partition))
      return now && now.leader >= 0 ? [{ at, now }] : []
    })
    const changed = pairs.flatMap(({ at: { log }, now }) =>
      log?.id === now.id && log.epoch !== now.epoch ? [{ log, now }] : [],
    )
    this.#refuseOlder(changed.some(({ log, now }) => now.epoch < log.epoch))
    const ends = await this.#epochEnds(changed)
    return pairs.map(({ at, now }) => ({ at, now, epochEnd: ends.get(partitionKey(at.topic, at.partition)) }))
  }

  async #describe(topics: readonly string[]): Promise<Map<string, State> | undefined> {
    const states = await this.cluster?.brokerPool.withBroker(async ({ broker }) =>
      supportsEpochs(broker) ? describeTopics(broker, topics) : 'unable',
    )
    if (!states)
      throw Object.assign(new Error('no broker describes the topics'), { name: 'KafkaJSBrokerNotFound' })
    if (states === 'unable') return undefined
    return new Map(
      states.flatMap(({ topic, id, partitions }) =>
        partitions.map((state) => [partitionKey(topic, state.partition), { topic, id, ...state }]),
      ),
    )
  }

  /** Throws as if the broker did not lead: the next request goes to another one. */
  #refuseOlder(isBehind: boolean): void {
    this.#behindSince = isBehind ? (this.#behindSince ?? performance.now()) : undefined
    if (this.#behindSince === undefined || performance.now() - this.#behindSince > BEHIND_MS) return
    const text = 'a broker reports an older leader epoch than before'
    throw Object.assign(new Error(text), { type: 'FENCED_LEADER_EPOCH' })
  }

  /** @returns by `partitionKey`. */
  async #epochEnds(of: readonly { now: State; log: KnownLog }[]): Promise<Map<string, number>> {
    const byLeader = Map.groupBy(of, ({ now }) => now.leader)
    const answers = await Promise.all(
      [...byLeader].map(async ([leader, logs]) => {
        const broker = await this.cluster?.findBroker({ nodeId: leader })
        const questions = logs.map(({ now, log: { epoch } }) => ({ ...now, current: now.epoch, epoch }))
        return broker ? endsOfEpochs(broker, questions) : []
      }),
    )
    return new Map(answers.flat().map(({ topic, partition, end }) => [partitionKey(topic, partition), end]))
  }

  async offsetAt(
    { topic, partition }: TopicPartition,
    when: { fromBeginning: boolean } | { fromTimestamp: number },
  ): Promise<number | undefined> {
    const [found] =
      (await this.cluster?.fetchTopicsOffset([{ topic, partitions: [{ partition }], ...when }])) ?? []
    const offset = Number(found?.partitions[0]?.offset ?? -1)
    return offset < 0 ? undefined : offset
  }
}
