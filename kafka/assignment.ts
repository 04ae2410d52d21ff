import type { Consumer } from 'kafkajs'
import { type CommittedOptions, committedBy, type Position, partitionKey } from './committed.ts'
import { createTracker, MAX_SPAN, type Tracker } from './tracker.ts'

/** A partition that this process owns, or owned: `topic` as named on the broker. */
export type Held = {
  topic: string
  partition: number
  tracker: Tracker
  owned: boolean
  /** Settled since the last commit. */
  dirty: boolean
  /** Whether the tracker was held against what the group has committed, in this generation. */
  checked: boolean
  waiting: 'no' | 'full' | 'held'
  timer?: NodeJS.Timeout
}

type Options = CommittedOptions & {
  consumer: Pick<Consumer, 'pause' | 'resume' | 'paused' | 'commitOffsets'>
  highWater: number
}

/** setTimeout fires at once above 2^31 ms; a partition held for longer is looked at again once an hour. */
const LONGEST_HOLD_MS = 3_600_000
/** Refused commits are normal in a rebalance; so long they are not. */
const COMMITS_FAIL_S = 15

/** The partitions of one consumer: which are owned, what is settled in each, which are paused and why. */
export function createAssignment({ connection, consumer, groupId, topics, highWater }: Options) {
  const committed = committedBy({ connection, groupId, topics })
  let partitions = new Map<string, Held>()
  let positions: Promise<Map<string, Position>> = Promise.resolve(new Map())
  let committing: Promise<void> | undefined
  let failingSince: number | undefined
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

  function warnOfCommits(err: unknown): void {
    failingSince ??= Date.now()
    const seconds = Math.round((Date.now() - failingSince) / 1000)
    if (seconds >= COMMITS_FAIL_S)
      connection.log.warn({ err, groupId, seconds }, 'offsets cannot be committed')
    else connection.log.debug({ err, groupId }, 'commit refused, the next one will carry it')
  }

  function forget(held: Held): void {
    clearTimeout(held.timer)
    held.owned = false
  }

  async function commitNow(): Promise<void> {
    const dirty = [...partitions.values()].filter((held) => held.dirty && held.checked)
    if (dirty.length === 0) return
    for (const held of dirty) held.dirty = false
    const offsets = dirty.map(({ topic, partition, tracker }) => {
      const { offset, ahead } = tracker.position()
      return { topic, partition, offset: String(offset), metadata: ahead }
    })
    try {
      await consumer.commitOffsets(offsets)
      failingSince = undefined
    } catch (error) {
      // refused in a rebalance, or Kafka is away: the next one carries the same
      for (const held of dirty) held.dirty = true
      warnOfCommits(error)
    }
  }

  return {
    /** A new generation: kept partitions go on with what is known of them, lost ones are forgotten. */
    assign(assigned: Record<string, number[]>): void {
      const kept = new Map<string, Held>()
      for (const [topic, numbers] of Object.entries(assigned))
        for (const partition of numbers) {
          const held = partitions.get(partitionKey(topic, partition))
          if (held) kept.set(partitionKey(topic, partition), held)
        }
      for (const [key, held] of partitions) if (!kept.has(key)) forget(held)
      for (const held of kept.values()) {
        clearTimeout(held.timer)
        held.owned = true
        held.waiting = 'no'
        held.checked = false
      }
      partitions = kept
      const generation = committed.positions()
      positions = generation
      void generation.then((offsets) => {
        if (positions === generation) check(offsets)
      })
      // pauses outlive a rebalance in kafkajs
      consumer.resume(consumer.paused())
    },

    async held(topic: string, partition: number): Promise<Held> {
      const start = (await positions).get(partitionKey(topic, partition)) ?? { offset: 0, ahead: '' }
      const known = partitions.get(partitionKey(topic, partition))
      if (known) return known
      const held: Held = {
        topic,
        partition,
        tracker: createTracker(start),
        owned: true,
        dirty: false,
        checked: true,
        waiting: 'no',
      }
      partitions.set(partitionKey(topic, partition), held)
      return held
    },

    settle(held: Held, offset: number): void {
      held.tracker.settle(offset)
      held.dirty = true
      if (
        held.waiting === 'full' &&
        held.tracker.inFlight() <= highWater / 2 &&
        held.tracker.span() < MAX_SPAN / 2
      )
        resume(held)
    },

    pauseIfFull(held: Held): void {
      if (held.tracker.inFlight() < highWater && held.tracker.span() < MAX_SPAN / 2) return
      held.waiting = 'full'
      tell('pause', held)
    },

    hold(held: Held, until: number): void {
      held.waiting = 'held'
      tell('pause', held)
      held.timer = setTimeout(() => resume(held), Math.min(Math.max(0, until - Date.now()), LONGEST_HOLD_MS))
    },

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

    /** One commit at a time; a call during one waits for the next. */
    async commit(): Promise<void> {
      while (committing) await committing
      committing = commitNow().finally(() => {
        committing = undefined
      })
      await committing
    },

    async close(): Promise<void> {
      closed = true
      await committed.close()
    },
  }
}
