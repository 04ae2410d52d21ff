import type { PartitionAssigner } from 'kafkajs'
import type { Logger } from '../../../process/log.ts'
import {
  judge,
  judgeRange,
  type KnownLog,
  type LogFault,
  type Place,
  partitionKey,
  type Verdict,
} from '../../log-faults.ts'
import { type Cluster, type ConsumerGroup, type FetchWatch, register } from './fetches.ts'
import { type At, type Compared, LogStates, type Looked } from './states.ts'

/** `log`: undefined when the commit does not say it, so that the place stands. */
export type Committed = Place & { topic: string; partition: number; log: KnownLog | undefined }

/** Watches the logs that one consumer reads (docs/decisions/019-log-watch.md). */
export type LogWatch = {
  /** Wraps the consumer's assigner, through which the watch gets to know the consumer's connections. */
  assigning(assigner: PartitionAssigner): PartitionAssigner
  known(topic: string, partition: number): KnownLog | undefined
  /** Another member has, or may have, read the partition: what is known of its log is out of date. */
  forget(topic: string, partition: number): void
  /**
   * Those that stand are known from here on.
   * @returns the faults of the others, by `partitionKey`. Does not call `onFault` or move the consumer. Rejects when
   * Kafka does not answer.
   */
  check(places: readonly Committed[]): Promise<Map<string, LogFault>>
  /** Drops batches that were fetched before. */
  seek(at: { topic: string; partition: number; offset: number }): void
}

export type WatchOptions = {
  log: Logger
  /** Undefined when the reader has no place in the partition yet. */
  place: (topic: string, partition: number) => Place | undefined
  /**
   * Called before the consumer is moved. When `to` is not below `offset`, the log has only lost unread records; this
   * is reported for places with an `end`.
   * @returns where to go on; `to` by default.
   */
  onFault: (fault: LogFault) => number | undefined
  seek: (at: { topic: string; partition: number; offset: string }) => void
  /** Reads on from the beginning after any fault. */
  fromBeginning?: boolean
}

/** A topic that was created again within one leader epoch shows only in a look. */
const LOOK_MS = 1_000
/** How much is read again after a cut that no epoch tells of: the clocks of writers differ. */
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
    check: (places) => watcher.check(places),
    seek: (at) => watcher.seek(at),
  }
}

class Watcher implements FetchWatch {
  readonly known = new Map<string, KnownLog>()
  private readonly options: WatchOptions
  private readonly movedAt = new Map<string, number>()
  private moveCount = 0
  private readonly states = new LogStates()
  private lookAt = 0
  private looking: Promise<void> | undefined
  /** The brokers do not report leader epochs. */
  private unable = false

  constructor(options: WatchOptions) {
    this.options = options
  }

  follow(cluster: Cluster): void {
    this.states.cluster = cluster
    register(cluster, this)
  }

  async beforeFetch(member: ConsumerGroup): Promise<void> {
    this.states.cluster = member.cluster
    if (this.unable || performance.now() < this.lookAt) return
    const isUrgent = this.lookAt === 0
    this.looking ??= this.look(member).finally(() => {
      this.looking = undefined
    })
    // a broker that does not answer must not hold up the fetch
    if (isUrgent) await this.looking
    else this.looking.catch((err) => this.options.log.debug({ err }, 'cannot look at the logs now'))
  }

  epochOf = (topic: string, partition: number) => this.known.get(partitionKey(topic, partition))?.epoch ?? -1

  moves = () => this.moveCount

  movedSince = (move: number, { topic, partition }: At) =>
    (this.movedAt.get(partitionKey(topic, partition)) ?? 0) > move

  lookSoon(): void {
    this.lookAt = 0
  }

  private async look(member: ConsumerGroup): Promise<void> {
    this.lookAt = performance.now() + LOOK_MS
    const assigned = member
      .assigned()
      .flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
    const places = assigned.flatMap((at) => {
      const log = this.known.get(partitionKey(at.topic, at.partition))
      const place = this.options.place(at.topic, at.partition)
      return place ? [{ ...at, place, log }] : []
    })
    if (places.length > 0) for (const compared of await this.compare(places)) await this.adopt(compared)
  }

  async check(places: readonly Committed[]): Promise<Map<string, LogFault>> {
    const faults = new Map<string, LogFault>()
    if (this.unable || places.length === 0) return faults
    for (const { topic, partition, log } of places)
      if (log) this.known.set(partitionKey(topic, partition), log)
    const compared = await this.compare(
      places.map(({ topic, partition, log, ...place }) => ({ topic, partition, log, place })),
    )
    for (const { at, now, epochEnd } of compared) {
      const key = partitionKey(at.topic, at.partition)
      const verdict = at.log && judge(at.place, at.log, { id: now.id, epochEnd })
      if (verdict) faults.set(key, await this.resolve(at, at.place, verdict))
      this.known.set(key, { id: now.id, epoch: now.epoch })
    }
    return faults
  }

  async outOfRange(topic: string, partition: number): Promise<void> {
    const place = this.options.place(topic, partition)
    if (!place) return
    const at = { topic, partition }
    const log = this.known.get(partitionKey(topic, partition))
    const [compared] = await this.compare([{ ...at, place, log }])
    // without a leader nobody can say what the log is: the next fetch asks again
    if (compared ? !(await this.adopt(compared)) : !this.unable) return
    await this.states.cluster?.refreshMetadata()
    const low = (await this.states.offsetAt(at, { fromBeginning: true })) ?? 0
    const high = (await this.states.offsetAt(at, { fromBeginning: false })) ?? 0
    const verdict = judgeRange(place, { low, high })
    const { again = place.offset } = place
    if (verdict?.cause === 'removed') this.move(await this.resolve(at, { offset: again }, verdict))
    else if (verdict) this.move(await this.resolve(at, place, verdict))
    // a join has put the consumer elsewhere
    else this.seek({ ...at, offset: again })
  }

  private async compare(places: readonly Looked[]): Promise<Compared[]> {
    const compared = await this.states.compare(places)
    if (compared) return compared
    if (!this.unable)
      this.options.log.info(
        'the brokers do not report leader epochs: a log that loses its end is noticed late or not at all',
      )
    this.unable = true
    // stale epochs must not make brokers refuse fetches
    this.known.clear()
    return []
  }

  /** The present log becomes the known one, and a place that does not stand is moved. @returns whether it stands. */
  private async adopt({ at, now, epochEnd }: Compared): Promise<boolean> {
    const key = partitionKey(at.topic, at.partition)
    // records may have been read since the look
    const place = this.options.place(at.topic, at.partition) ?? at.place
    const verdict = at.log && judge(place, at.log, { id: now.id, epochEnd })
    const fault = verdict && (await this.resolve(at, place, verdict))
    // revoked or compared again meanwhile
    if (this.known.get(key) !== at.log) return false
    this.known.set(key, { id: now.id, epoch: now.epoch })
    if (fault) this.move(fault)
    else if (epochEnd !== undefined) this.dropFetched(at)
    return !fault
  }

  private async resolve(at: At, { offset, time }: Place, { cause, to }: Verdict): Promise<LogFault> {
    // kafkajs may still know the previous leaders
    await this.states.cluster?.refreshMetadata()
    const { topic, partition } = at
    const fault = (found: number) => ({ topic, partition, cause, offset, to: found })
    if (this.options.fromBeginning || to === 'beginning' || (to === 'time' && time === undefined))
      return fault((await this.states.offsetAt(at, { fromBeginning: true })) ?? 0)
    if (to !== 'time') return fault(to)
    const since = await this.states.offsetAt(at, { fromTimestamp: Math.max(0, (time ?? 0) - REPEAT_MS) })
    return fault(since ?? (await this.states.offsetAt(at, { fromBeginning: false })) ?? 0)
  }

  private move(fault: LogFault): void {
    const offset = this.options.onFault(fault) ?? fault.to
    this.seek({ topic: fault.topic, partition: fault.partition, offset })
  }

  seek({ topic, partition, offset }: At & { offset: number }): void {
    this.dropFetched({ topic, partition })
    try {
      this.options.seek({ topic, partition, offset: String(offset) })
    } catch (err) {
      this.options.log.debug({ err, topic, partition }, 'no seek: the consumer restarts, and its join seeks')
    }
  }

  /** They are fetched again from where the reader is. */
  private dropFetched({ topic, partition }: At): void {
    this.moveCount += 1
    this.movedAt.set(partitionKey(topic, partition), this.moveCount)
  }
}
