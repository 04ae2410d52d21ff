import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer } from 'kafkajs'
import { type LogFault, type Place, partitionKey } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch.ts'
import { type CommittedOptions, committedBy, committer, type Position } from './commits.ts'
import { createTracker, cutAt, MAX_SPAN, type Tracker, unpackAhead } from './tracker.ts'

/** A partition that this process owns, or owned: `topic` as named on the broker. */
export type Held = {
  topic: string
  partition: number
  tracker: Tracker
  owned: boolean
  /** Settled since the last commit. */
  dirty: boolean
  /** The end of the log when it was fetched last. */
  end: number
  /** Whether the tracker was held against what the group has committed, since the last join. */
  checked: boolean
  waiting: 'no' | 'full' | 'held'
  timer?: NodeJS.Timeout
}

/** Whoever keeps something of its own per partition. */
export type PartitionWatch = {
  /** They are owned anew: whatever was known of them is past. Told before the first record of them is handed over. */
  gained(partitions: readonly Gained[]): void
  /** Another member has it or, before `gained`, had it meanwhile. */
  lost(partition: Partition): void
}

type Partition = Pick<Held, 'topic' | 'partition'>
type Gained = Partition & Pick<Position, 'lostFrom'>

type Options = CommittedOptions & {
  consumer: Pick<Consumer, 'pause' | 'resume' | 'paused' | 'commitOffsets'>
  /** Of this consumer. */
  logs: Pick<LogWatch, 'check' | 'forget' | 'known' | 'seek'>
  /** Told of each fault of a log, with the end that it had, as far as it is known. */
  onFault: (fault: LogFault & { end?: number | undefined; time?: number | undefined }) => void
  highWater: number
  watch?: PartitionWatch | undefined
}

const RETRY_MS = 250

/** Timers do not notice that the wall clock was set, or that the machine slept: a partition that is held looks itself. */
const LOOK_MS = 1_000

/** @returns where to go on, and what is settled from there on. */
const goOn = ({ time, ...position }: Omit<Position, 'log'>, { cause, to }: LogFault): Position =>
  cause === 'truncated'
    ? { ...cutAt(position, to), time, lostFrom: to }
    : { offset: to, ahead: '', lostFrom: to }

/** The partitions of one consumer: which are owned, what is settled in each, which are paused and why. */
export function createAssignment(options: Options) {
  const { connection, consumer, groupId, topics, highWater, logs, onFault, watch } = options
  const committed = committedBy({ connection, groupId, topics })
  let partitions = new Map<string, Held>()
  let positions: Promise<Map<string, Position>> = Promise.resolve(new Map())
  let closed = false

  const where = ({ topic, partition }: Held) => [{ topic, partitions: [partition] }]

  /** Between a crash of kafkajs's consumer and its restart there is none; the next join resets all pauses. */
  function tell(act: 'pause' | 'resume', held: Held): void {
    try {
      consumer[act](where(held))
    } catch (error) {
      connection.log.debug({ err: error, groupId }, `no ${act}: the consumer restarts`)
    }
  }

  /** It may have been lost, and come again as another, while a batch of it was at work. */
  const isPast = (held: Held) => partitions.get(partitionKey(held.topic, held.partition)) !== held

  function resume(held: Held): void {
    clearTimeout(held.timer)
    held.waiting = 'no'
    if (held.owned && !closed) tell('resume', held)
  }

  /** Another member may have gone on with a partition before it came back: then what is known of it here is past. */
  function check(starts: Map<string, Position>): void {
    for (const [key, held] of partitions) {
      const start = starts.get(key)
      if (start && start.offset > held.tracker.position().offset) {
        forget(held)
        partitions.delete(key)
      }
      held.checked = true
      held.dirty = true
    }
  }

  function begin(topic: string, partition: number, starts: Map<string, Position>): Held {
    const key = partitionKey(topic, partition)
    const start = starts.get(key) ?? { offset: 0, ahead: '' }
    const fresh = { owned: true, dirty: false, checked: true, waiting: 'no' } as const
    const held: Held = { topic, partition, tracker: createTracker(start), end: start.offset, ...fresh }
    partitions.set(key, held)
    return held
  }

  /**
   * Holds what the group has committed against the logs. A partition that was kept is watched all the time: only when another member has
   * gone on with it is its commit looked at.
   * @returns where to begin each partition, once there is an answer; what is wrong has been told.
   */
  async function compared(
    assigned: readonly Partition[],
    starts: Map<string, Position>,
  ): Promise<Map<string, Position>> {
    const places = assigned.flatMap(({ topic, partition }) => {
      const key = partitionKey(topic, partition)
      const start = starts.get(key)
      const kept = partitions.get(key)
      if (!start || (kept && start.offset <= kept.tracker.position().offset)) return []
      // what is settled ahead of it was read too
      const offset = Math.max(
        start.offset,
        ...unpackAhead(start.offset, start.ahead)
          .slice(-1)
          .map((last) => last + 1),
      )
      return [{ topic, partition, offset, time: start.time, log: start.log }]
    })
    const faults = await logs.check(places)
    const sound = new Map(starts)
    for (const [key, fault] of faults) {
      const start = starts.get(key)
      if (!start) continue
      onFault({ ...fault, time: start.time })
      const position = goOn(start, fault)
      sound.set(key, position)
      logs.seek({ topic: fault.topic, partition: fault.partition, offset: position.offset })
    }
    return sound
  }

  async function startsOf(
    assigned: readonly Partition[],
    isPast: () => boolean,
  ): Promise<Map<string, Position>> {
    const starts = await committed.positions()
    for (const { topic, partition } of assigned) {
      const { offset = 0, foreign } = starts.get(partitionKey(topic, partition)) ?? {}
      if (offset > 0 && foreign)
        connection.log.warn(
          { groupId, topic, partition, offset },
          'another program has committed this offset for our consumer group: what it skipped is not handled',
        )
    }
    while (!closed && !isPast()) {
      try {
        return await compared(assigned, starts)
      } catch (err) {
        connection.log.debug({ err, groupId }, 'the logs cannot be looked at yet')
        await sleep(RETRY_MS)
      }
    }
    return starts
  }

  function gain(assigned: readonly Partition[], starts: Map<string, Position>): void {
    if (closed) return
    const gained = assigned.filter(({ topic, partition }) => !partitions.has(partitionKey(topic, partition)))
    for (const { topic, partition } of gained) begin(topic, partition, starts)
    const lostFrom = ({ topic, partition }: Partition) => starts.get(partitionKey(topic, partition))?.lostFrom
    if (gained.length > 0) watch?.gained(gained.map((at) => ({ ...at, lostFrom: lostFrom(at) })))
  }

  function forget(held: Held): void {
    clearTimeout(held.timer)
    held.owned = false
    watch?.lost(held)
  }

  const commit = committer({
    connection,
    groupId,
    consumer,
    known: logs.known,
    dirty: () => [...partitions.values()].filter(({ dirty, checked }) => dirty && checked),
  })

  return {
    /** A new generation: kept partitions go on with what is known of them, lost ones are forgotten. */
    assign(assignment: Record<string, number[]>): void {
      const assigned = Object.entries(assignment).flatMap(([topic, numbers]) =>
        numbers.map((partition) => ({ topic, partition })),
      )
      const kept = new Map<string, Held>()
      for (const { topic, partition } of assigned) {
        const held = partitions.get(partitionKey(topic, partition))
        if (held) kept.set(partitionKey(topic, partition), held)
      }
      for (const [key, held] of partitions) if (!kept.has(key)) forget(held)
      for (const { topic, partition } of assigned)
        if (!kept.has(partitionKey(topic, partition))) logs.forget(topic, partition)
      for (const held of kept.values()) {
        clearTimeout(held.timer)
        held.owned = true
        held.waiting = 'no'
        held.checked = false
      }
      partitions = kept
      const generation: typeof positions = startsOf(assigned, () => positions !== generation)
      positions = generation
      void generation.then((offsets) => {
        if (positions !== generation) return
        check(offsets)
        gain(assigned, offsets)
      })
      // pauses outlive a rebalance in kafkajs
      consumer.resume(consumer.paused())
    },

    /** Where this member is in a partition; undefined: it does not have it, or not yet. */
    place(topic: string, partition: number): Place | undefined {
      const held = partitions.get(partitionKey(topic, partition))
      return held && { ...held.tracker.next(), end: held.end }
    },

    /**
     * A log is not the one that was read. What is in flight goes on, and is read again where the log still has it: nobody waits for it any
     * more, as its offsets may be those of other records by now. @returns where to read on.
     */
    restart(fault: LogFault): number {
      const key = partitionKey(fault.topic, fault.partition)
      const held = partitions.get(key)
      if (!held) return fault.to
      const { tracker, end } = held
      onFault({ ...fault, end, time: tracker.next().time })
      if (fault.cause === 'removed') {
        tracker.skip(fault.to)
        held.dirty = true
        return fault.to
      }
      const { offset, time } = tracker.next()
      // what is gone was not read yet
      if (fault.cause === 'truncated' && fault.to >= offset) {
        held.end = fault.to
        return offset
      }
      clearTimeout(held.timer)
      const position = goOn({ ...tracker.position(), time }, fault)
      const fresh = begin(fault.topic, fault.partition, new Map([[key, position]]))
      fresh.owned = held.owned
      fresh.checked = held.checked
      fresh.dirty = true
      watch?.lost(held)
      watch?.gained([{ topic: fault.topic, partition: fault.partition, lostFrom: position.lostFrom }])
      if (held.owned && !closed) tell('resume', fresh)
      return position.offset
    },

    /** @returns undefined for what is another member's by now. */
    async held(topic: string, partition: number): Promise<Held | undefined> {
      let generation: typeof positions
      do {
        generation = positions
        await generation
      } while (generation !== positions)
      return partitions.get(partitionKey(topic, partition))
    },

    settle(held: Held, offset: number): void {
      const { tracker } = held
      tracker.settle(offset)
      held.dirty = true
      if (held.waiting !== 'full') return
      const hasRoom = tracker.inFlight() <= highWater / 2 && tracker.span() < MAX_SPAN / 2
      if (hasRoom || tracker.inFlight() === 0) resume(held)
    },

    /** Never where nothing is in flight: what was released ends no wait, it has to be fetched again. @returns whether it was. */
    pauseIfFull(held: Held): boolean {
      const { tracker } = held
      if (isPast(held) || tracker.inFlight() === 0) return false
      if (tracker.inFlight() < highWater && tracker.span() < MAX_SPAN / 2) return false
      clearTimeout(held.timer)
      held.waiting = 'full'
      tell('pause', held)
      return true
    },

    /**
     * Until the wall clock says so, or for as long as it seems now: whichever is first, as the clock may be set forward or back.
     * Who is asked too early holds once more.
     */
    hold(held: Held, until: number): void {
      if (isPast(held)) return
      held.waiting = 'held'
      tell('pause', held)
      const end = performance.now() + until - Date.now()
      const look = () => {
        const left = Math.min(until - Date.now(), end - performance.now())
        if (left <= 0) resume(held)
        else lookIn(left)
      }
      const lookIn = (ms: number) => {
        clearTimeout(held.timer)
        held.timer = setTimeout(look, Math.min(Math.max(0, ms), LOOK_MS))
      }
      lookIn(until - Date.now())
    },

    /** Whether it is not lost, nor its log another one by now. */
    isHeld: (held: Held) => !isPast(held),

    owns: () => [...partitions.values()].some(({ owned }) => owned),

    /** Those of a topic, as named on the broker, that are not to be given away. */
    owned: (topic: string) => [...partitions.values()].filter((held) => held.owned && held.topic === topic),

    inFlight: () => [...partitions.values()].reduce((sum, { tracker }) => sum + tracker.inFlight(), 0),

    /** Nothing more of what is owned shall be begun: it may go to another member. */
    disown(): void {
      for (const held of partitions.values()) held.owned = false
    },

    /** Nothing more is fetched from here on, and nothing resumed. */
    pauseAll(): void {
      closed = true
      for (const held of partitions.values()) {
        clearTimeout(held.timer)
        tell('pause', held)
      }
    },

    commit,

    async close(): Promise<void> {
      closed = true
      await committed.close()
    },
  }
}
