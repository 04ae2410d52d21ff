import type { PartitionAssigner } from 'kafkajs'
import type { Logger } from '../../../process/log.ts'
import {
  type FetchPosition,
  judge,
  judgeRange,
  type KnownLog,
  type LogFault,
  type Verdict,
} from '../../log-faults.ts'
import { partitionKey, type TopicPartition } from '../../topic-partition.ts'
import { type Cluster, type ConsumerGroup, type FetchWatch, register } from './fetches.ts'
import { type Checked, type Compared, LogStates } from './states.ts'

/** Without `log`, the position counts as valid. */
export type Committed = FetchPosition & TopicPartition & { log: KnownLog | undefined }

/** Watches the logs that one consumer reads (docs/decisions/019-log-watch.md). */
export type LogWatch = {
  /** Wraps the assigner to get at the consumer's connections. */
  assigning(assigner: PartitionAssigner): PartitionAssigner
  known(topic: string, partition: number): KnownLog | undefined
  /** Call it when another member may have read the partition. */
  forget(topic: string, partition: number): void
  /**
   * Compares positions with the present logs, which are then known. Does not call `onFault`.
   * @returns the faults of positions, by `partitionKey`. Rejects when Kafka does not answer.
   */
  check(positions: readonly Committed[]): Promise<Map<string, LogFault>>
  /** Also drops batches that were fetched before. */
  seek(at: TopicPartition & { offset: number }): void
}

export type WatchOptions = {
  log: Logger
  /** Undefined while the reader has no position. */
  fetchPosition: (topic: string, partition: number) => FetchPosition | undefined
  /**
   * Called before the consumer moves. If `to` is not below `offset`, only unread records are lost.
   * @returns where to continue; `to` by default.
   */
  onFault: (fault: LogFault) => number | undefined
  seek: (at: TopicPartition & { offset: string }) => void
  /** The leader's epoch has changed. */
  onElection?: () => void
  /** Whether to restart at the beginning after any fault. */
  fromBeginning?: boolean
}

/** Only a recheck notices a topic that was recreated within one leader epoch. It costs one request per consumer. */
const RECHECK_MS = 4_000
/** How far back to read again if epochs do not show where the log was cut. Writers' clocks differ. */
const REPEAT_MS = 60_000

export function watchLog(options: WatchOptions): LogWatch {
  const watcher = new Watcher(options)
  return {
    assigning: (assigner) => (config) => {
      watcher.follow(config.cluster as unknown as Cluster)
      return assigner(config)
    },
    known: (topic, partition) => watcher.known.get(partitionKey(topic, partition)),
    forget: (topic, partition) => void watcher.known.delete(partitionKey(topic, partition)),
    check: (positions) => watcher.check(positions),
    seek: (at) => watcher.seek(at),
  }
}

class Watcher implements FetchWatch {
  readonly known = new Map<string, KnownLog>()
  readonly #options: WatchOptions
  readonly #movedAt = new Map<string, number>()
  #moveCount = 0
  readonly #states = new LogStates()
  #recheckAt = 0
  #rechecking: Promise<void> | undefined
  #unable = false

  constructor(options: WatchOptions) {
    this.#options = options
  }

  follow(cluster: Cluster): void {
    this.#states.cluster = cluster
    register(cluster, this)
  }

  async beforeFetch(member: ConsumerGroup): Promise<void> {
    this.#states.cluster = member.cluster
    if (this.#unable || performance.now() < this.#recheckAt) return
    const isUrgent = this.#recheckAt === 0
    this.#rechecking ??= this.#recheck(member).finally(() => {
      this.#rechecking = undefined
    })
    // a broker that does not answer must not delay the fetch
    if (isUrgent) await this.#rechecking
    else this.#rechecking.catch((err) => this.#options.log.debug({ err }, 'cannot check the logs now'))
  }

  epochOf = (topic: string, partition: number) => this.known.get(partitionKey(topic, partition))?.epoch ?? -1

  moves = () => this.#moveCount

  movedSince = (move: number, { topic, partition }: TopicPartition) =>
    (this.#movedAt.get(partitionKey(topic, partition)) ?? 0) > move

  recheckSoon(): void {
    this.#recheckAt = 0
  }

  async #recheck(member: ConsumerGroup): Promise<void> {
    this.#recheckAt = performance.now() + RECHECK_MS
    const assigned = member
      .assigned()
      .flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
    const positions = assigned.flatMap((at) => {
      const log = this.known.get(partitionKey(at.topic, at.partition))
      const position = this.#options.fetchPosition(at.topic, at.partition)
      return position ? [{ ...at, position, log }] : []
    })
    if (positions.length > 0)
      for (const compared of await this.#compare(positions)) await this.#adopt(compared)
  }

  async check(positions: readonly Committed[]): Promise<Map<string, LogFault>> {
    const faults = new Map<string, LogFault>()
    if (this.#unable || positions.length === 0) return faults
    for (const { topic, partition, log } of positions)
      if (log) this.known.set(partitionKey(topic, partition), log)
    const compared = await this.#compare(
      positions.map(({ topic, partition, log, ...position }) => ({ topic, partition, log, position })),
    )
    for (const { at, now, epochEnd } of compared) {
      const key = partitionKey(at.topic, at.partition)
      if (epochEnd !== undefined) this.#options.onElection?.()
      const verdict = at.log && judge(at.position, at.log, { id: now.id, epochEnd })
      if (verdict) faults.set(key, await this.#resolve(at, at.position, verdict))
      this.known.set(key, { id: now.id, epoch: now.epoch })
    }
    return faults
  }

  async outOfRange(topic: string, partition: number): Promise<void> {
    const position = this.#options.fetchPosition(topic, partition)
    if (!position) return
    const at = { topic, partition }
    const log = this.known.get(partitionKey(topic, partition))
    const [compared] = await this.#compare([{ ...at, position, log }])
    // without a leader, the next fetch asks again
    if (compared ? !(await this.#adopt(compared)) : !this.#unable) return
    await this.#states.cluster?.refreshMetadata()
    const low = (await this.#states.offsetAt(at, { fromBeginning: true })) ?? 0
    const high = (await this.#states.offsetAt(at, { fromBeginning: false })) ?? 0
    const verdict = judgeRange(position, { low, high })
    const { again = position.offset } = position
    if (verdict?.cause === 'removed') this.#move(await this.#resolve(at, { offset: again }, verdict))
    else if (verdict) this.#move(await this.#resolve(at, position, verdict))
    // a join has moved the consumer
    else this.seek({ ...at, offset: again })
  }

  async #compare(positions: readonly Checked[]): Promise<Compared[]> {
    const compared = await this.#states.compare(positions)
    if (compared) return compared
    if (!this.#unable)
      this.#options.log.info(
        'the brokers do not report leader epochs: a log that loses its end is noticed late or not at all',
      )
    this.#unable = true
    // stale epochs would make brokers refuse fetches
    this.known.clear()
    return []
  }

  /** Makes the present log the known one, and moves an invalid position. @returns whether the position is valid. */
  async #adopt({ at, now, epochEnd }: Compared): Promise<boolean> {
    const key = partitionKey(at.topic, at.partition)
    if (epochEnd !== undefined) this.#options.onElection?.()
    // records may have been read meanwhile
    const position = this.#options.fetchPosition(at.topic, at.partition) ?? at.position
    const verdict = at.log && judge(position, at.log, { id: now.id, epochEnd })
    const fault = verdict && (await this.#resolve(at, position, verdict))
    // the partition was revoked or compared again meanwhile
    if (this.known.get(key) !== at.log) return false
    this.known.set(key, { id: now.id, epoch: now.epoch })
    if (fault) this.#move(fault)
    else if (epochEnd !== undefined) this.#dropFetched(at)
    return !fault
  }

  async #resolve(
    at: TopicPartition,
    { offset, time }: FetchPosition,
    { cause, to }: Verdict,
  ): Promise<LogFault> {
    // kafkajs may still know the previous leaders
    await this.#states.cluster?.refreshMetadata()
    const { topic, partition } = at
    const fault = (found: number) => ({ topic, partition, cause, offset, to: found })
    if (this.#options.fromBeginning || to === 'beginning' || (to === 'time' && time === undefined))
      return fault((await this.#states.offsetAt(at, { fromBeginning: true })) ?? 0)
    if (to !== 'time') return fault(to)
    const since = await this.#states.offsetAt(at, { fromTimestamp: Math.max(0, (time ?? 0) - REPEAT_MS) })
    return fault(since ?? (await this.#states.offsetAt(at, { fromBeginning: false })) ?? 0)
  }

  #move(fault: LogFault): void {
    const offset = this.#options.onFault(fault) ?? fault.to
    this.seek({ topic: fault.topic, partition: fault.partition, offset })
  }

  seek({ topic, partition, offset }: TopicPartition & { offset: number }): void {
    this.#dropFetched({ topic, partition })
    try {
      this.#options.seek({ topic, partition, offset: String(offset) })
    } catch (err) {
      this.#options.log.debug({ err, topic, partition }, 'no seek: the consumer restarts, and its join seeks')
    }
  }

  /** Dropped batches are fetched again from the reader's position. */
  #dropFetched({ topic, partition }: TopicPartition): void {
    this.#moveCount += 1
    this.#movedAt.set(partitionKey(topic, partition), this.#moveCount)
  }
}
