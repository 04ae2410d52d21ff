import type { Consumer } from 'kafkajs'
import type { FetchPosition, LogFault } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch/watch.ts'
import { partitionKey, type TopicPartition } from '../topic-partition.ts'
import { createCommitter } from './commits.ts'
import { type Pausable, Pauses } from './pauses.ts'
import { afterFault, type Position, type StartOptions, StartPositions } from './start-positions.ts'
import { packAhead, settledAhead, Tracker, unpackAhead } from './tracker.ts'

/** `owned`: false once the member gives it up. */
export type Held = Pausable & {
  /** Whether offsets were settled since the last commit. */
  dirty: boolean
  /** The end of the log at the last fetch. */
  end: number
  /** Whether it was compared with the group's commit since the join. */
  checked: boolean
}

/** For callers that keep state per partition. */
export type PartitionWatch = {
  /** Called before the first record: state about these partitions is out of date. */
  gained(partitions: readonly Gained[]): void
  /** Another member has the partition. If `gained` follows, it had it for a while, or the log has changed. */
  lost(partition: TopicPartition): void
}

type Gained = TopicPartition & Pick<Position, 'lostFrom'>

type Options = Omit<StartOptions, 'logs' | 'onFault'> & {
  consumer: Pick<Consumer, 'pause' | 'resume' | 'paused' | 'commitOffsets'>
  logs: Pick<LogWatch, 'check' | 'forget' | 'known' | 'seek'>
  onFault: (fault: LogFault & { end?: number | undefined; time?: number | undefined }) => void
  highWater: number
  watch?: PartitionWatch | undefined
}

export class Assignment {
  readonly #options: Options
  readonly #starts: StartPositions
  readonly #pauses: Pauses
  #partitions = new Map<string, Held>()
  /** Resolves when the current generation knows its start positions. */
  #generation: Promise<unknown> = Promise.resolve()
  #closed = false
  /** Since a rebalance began, until the next assignment. */
  #disowned = false
  readonly commit: () => Promise<void>

  constructor(options: Options) {
    const { connection, groupId, consumer, logs } = options
    this.#options = options
    this.#starts = new StartPositions(options)
    this.#pauses = new Pauses({ ...options, isHeld: (held) => this.isHeld(held) })
    const dirty = () => [...this.#partitions.values()].filter((held) => held.dirty && held.checked)
    this.commit = createCommitter({ connection, groupId, consumer, known: logs.known, dirty })
  }

  /** Kept partitions keep their state. */
  assign(assignment: Record<string, number[]>): void {
    const { consumer, logs } = this.#options
    this.#disowned = false
    const assigned = Object.entries(assignment).flatMap(([topic, numbers]) =>
      numbers.map((partition) => ({ topic, partition })),
    )
    const kept = new Map<string, Held>()
    for (const { topic, partition } of assigned) {
      const key = partitionKey(topic, partition)
      const held = this.#partitions.get(key)
      if (held) kept.set(key, held)
      else logs.forget(topic, partition)
    }
    for (const [key, held] of this.#partitions) if (!kept.has(key)) this.#lose(held)
    for (const held of kept.values()) {
      clearTimeout(held.timer)
      Object.assign(held, { owned: true, paused: 'no', checked: false })
    }
    this.#partitions = kept
    this.#startGeneration(assigned)
    if (this.#closed)
      consumer.pause(Object.entries(assignment).map(([topic, partitions]) => ({ topic, partitions })))
    // kafkajs keeps pauses across a rebalance
    else consumer.resume(consumer.paused())
  }

  #startGeneration(assigned: readonly TopicPartition[]): void {
    const before = new Map(this.#partitions)
    const generation = this.#starts.read(
      assigned,
      (key) => this.#partitions.get(key)?.tracker.position().offset,
      () => this.#generation !== generation,
    )
    this.#generation = generation
    void generation.then((positions) => {
      if (this.#generation !== generation) return
      this.#checkKept(positions, before)
      this.#gain(assigned, positions)
    })
  }

  /**
   * Another member may have read on in a partition before it came back, even in a log that was then cut. A partition
   * that was restarted at a cut meanwhile stays there: the commit may be from before the cut.
   */
  #checkKept(positions: Map<string, Position>, before: ReadonlyMap<string, Held>): void {
    for (const [key, held] of this.#partitions) {
      const start = positions.get(key)
      const cut = start?.lostFrom !== undefined
      if (before.get(key) !== held) {
        if (cut) this.#seekBack(held)
      } else if (start) {
        const isAhead = cut || start.offset > held.tracker.position().offset
        const moved = isAhead ? start : this.#withSettledByOthers(held, start)
        if (moved) {
          positions.set(key, moved)
          this.#lose(held)
          this.#partitions.delete(key)
        }
      }
      held.checked = true
      held.dirty = true
    }
  }

  /**
   * Another member may have settled records after one that is still open here. If the log may have been cut since,
   * these offsets may belong to other records.
   * @returns what this member or the other one has settled; undefined if the other one has settled nothing more.
   */
  #withSettledByOthers(
    { topic, partition, tracker }: Held,
    { offset, ahead, log }: Position,
  ): Position | undefined {
    const known = this.#options.logs.known(topic, partition)
    if (log?.id !== known?.id || log?.epoch !== known?.epoch) return undefined
    const own = tracker.position()
    const isOwn = settledAhead(own.offset, own.ahead)
    const others = unpackAhead(offset, ahead).filter((each) => each >= own.offset && !isOwn(each))
    if (others.length === 0) return undefined
    const settled = [...unpackAhead(own.offset, own.ahead), ...others]
    const { time } = tracker.next()
    return { offset: own.offset, ahead: packAhead(own.offset, settled), time, isNew: true }
  }

  /** Undoes the seek of `starts.read` to the cut that it found. */
  #seekBack({ topic, partition, tracker }: Held): void {
    this.#options.logs.seek({ topic, partition, offset: tracker.position().offset })
  }

  #gain(assigned: readonly TopicPartition[], positions: Map<string, Position>): void {
    if (this.#closed) return
    const gained = assigned
      .map((at) => ({ ...at, key: partitionKey(at.topic, at.partition) }))
      .filter(({ key }) => !this.#partitions.has(key))
    for (const { key, topic, partition } of gained) this.#begin(topic, partition, positions.get(key))
    if (gained.length > 0)
      this.#options.watch?.gained(
        gained.map(({ key, ...at }) => ({ ...at, lostFrom: positions.get(key)?.lostFrom })),
      )
  }

  #begin(topic: string, partition: number, start: Position = { offset: 0, ahead: '' }): Held {
    // a commit from before a loss would be reported at each join
    const dirty = start.lostFrom !== undefined || start.isNew === true
    const fresh = { owned: !this.#disowned, dirty, checked: true, paused: 'no' } as const
    const held: Held = { topic, partition, tracker: new Tracker(start), end: start.offset, ...fresh }
    this.#partitions.set(partitionKey(topic, partition), held)
    return held
  }

  #lose(held: Held): void {
    clearTimeout(held.timer)
    held.owned = false
    this.#options.watch?.lost(held)
  }

  /** Waits for the current generation. @returns undefined when another member has the partition. */
  async held(topic: string, partition: number): Promise<Held | undefined> {
    let generation: unknown
    do {
      generation = this.#generation
      await generation
    } while (generation !== this.#generation)
    return this.#partitions.get(partitionKey(topic, partition))
  }

  /** False also if the partition came back meanwhile: it is then another object. */
  isHeld(held: TopicPartition): boolean {
    return this.#partitions.get(partitionKey(held.topic, held.partition)) === held
  }

  settle(held: Held, offset: number): void {
    held.tracker.settle(offset)
    held.dirty = true
    this.#pauses.resumeIfRoom(held)
  }

  pauseIfFull(held: Held): boolean {
    return this.#pauses.pauseIfFull(held)
  }

  pauseUntil(held: Held, until: number): void {
    this.#pauses.pauseUntil(held, until)
  }

  /** Undefined while this member does not have the partition. */
  fetchPosition(topic: string, partition: number): FetchPosition | undefined {
    const held = this.#partitions.get(partitionKey(topic, partition))
    return held && { ...held.tracker.next(), end: held.end }
  }

  /**
   * Records in flight continue. If the log was cut or recreated, nothing waits for them: their offsets may belong to
   * other records now.
   * @returns where to continue reading.
   */
  restart(fault: LogFault): number {
    const held = this.#partitions.get(partitionKey(fault.topic, fault.partition))
    if (!held) return fault.to
    const { tracker, end, checked } = held
    this.#options.onFault({ ...fault, end, time: tracker.next().time })
    if (fault.cause === 'removed') {
      tracker.skip(fault.to)
      held.dirty = true
      return fault.to
    }
    const { offset, time, again = offset } = tracker.next()
    // this member had not read the lost records; until `checked`, another may have read and committed them
    if (fault.cause === 'truncated' && fault.to >= offset && checked) {
      held.end = fault.to
      return again
    }
    return this.#restartAt(held, afterFault({ ...tracker.position(), time }, fault))
  }

  #restartAt(held: Held, position: Position): number {
    const { topic, partition, owned, checked } = held
    clearTimeout(held.timer)
    const fresh = Object.assign(this.#begin(topic, partition, position), { owned, checked, dirty: true })
    this.#options.watch?.lost(held)
    this.#options.watch?.gained([{ topic, partition, lostFrom: position.lostFrom }])
    this.#pauses.resumeFetches(fresh)
    return position.offset
  }

  owns(partition?: number): boolean {
    return [...this.#partitions.values()].some(
      (held) => held.owned && (partition === undefined || held.partition === partition),
    )
  }

  /** @param topic as named on the broker. */
  owned(topic: string): Held[] {
    return [...this.#partitions.values()].filter((held) => held.owned && held.topic === topic)
  }

  inFlight(): number {
    return [...this.#partitions.values()].reduce((sum, { tracker }) => sum + tracker.inFlight(), 0)
  }

  /** Starts nothing new: other members may get the partitions. */
  disown(): void {
    this.#disowned = true
    for (const held of this.#partitions.values()) held.owned = false
  }

  /** Fetches and resumes nothing from here on. */
  pauseAll(): void {
    this.#closed = true
    this.#pauses.close(this.#partitions.values())
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#starts.close()
  }
}
