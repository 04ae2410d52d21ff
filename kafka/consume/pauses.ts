import type { Consumer } from 'kafkajs'
import type { Connection } from '../client.ts'
import type { TopicPartition } from '../topic-partition.ts'
import { MAX_SPAN, type Tracker } from './tracker.ts'

/** Paused when `full` (too many records are unsettled) or `until` a time (a record asked to wait). */
export type Pausable = TopicPartition & {
  tracker: Tracker
  owned: boolean
  paused: 'no' | 'full' | 'until'
  timer?: NodeJS.Timeout
}

type Options = {
  connection: Pick<Connection, 'log'>
  consumer: Pick<Consumer, 'pause' | 'resume'>
  groupId: string
  highWater: number
  isHeld: (partition: Pausable) => boolean
}

/** Timers run in short steps: they do not notice when the wall clock is set or the machine sleeps. */
const CHECK_MS = 1_000

export class Pauses {
  readonly #options: Options
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Does not pause with nothing in flight: nothing would end the pause. */
  pauseIfFull(held: Pausable): boolean {
    const { highWater, isHeld } = this.#options
    const { tracker } = held
    if (!isHeld(held) || tracker.inFlight() === 0) return false
    if (tracker.inFlight() < highWater && tracker.span() < MAX_SPAN / 2) return false
    clearTimeout(held.timer)
    held.paused = 'full'
    this.#tellConsumer('pause', held)
    return true
  }

  resumeIfRoom(held: Pausable): void {
    if (held.paused !== 'full') return
    const { tracker } = held
    const hasRoom = tracker.inFlight() <= this.#options.highWater / 2 && tracker.span() < MAX_SPAN / 2
    if (hasRoom || tracker.inFlight() === 0) this.#resume(held)
  }

  /**
   * Pauses it until the wall clock shows `until`. If the clock is set back, waits only as long as planned. A record that
   * comes too early asks to wait again.
   */
  pauseUntil(held: Pausable, until: number): void {
    if (!this.#options.isHeld(held)) return
    held.paused = 'until'
    this.#tellConsumer('pause', held)
    const end = performance.now() + until - Date.now()
    const check = () => {
      const left = Math.min(until - Date.now(), end - performance.now())
      if (left <= 0) this.#resume(held)
      else checkIn(left)
    }
    const checkIn = (ms: number) => {
      clearTimeout(held.timer)
      held.timer = setTimeout(check, Math.min(Math.max(0, ms), CHECK_MS))
    }
    checkIn(until - Date.now())
  }

  #resume(held: Pausable): void {
    clearTimeout(held.timer)
    held.paused = 'no'
    this.resumeFetches(held)
  }

  resumeFetches(held: Pausable): void {
    if (held.owned && !this.#closed) this.#tellConsumer('resume', held)
  }

  close(partitions: Iterable<Pausable>): void {
    this.#closed = true
    for (const held of partitions) {
      clearTimeout(held.timer)
      this.#tellConsumer('pause', held)
    }
  }

  /** After a crash kafkajs has no consumer until it restarts; the next join resets all pauses. */
  #tellConsumer(act: 'pause' | 'resume', { topic, partition }: Pausable): void {
    const { connection, consumer, groupId } = this.#options
    try {
      consumer[act]([{ topic, partitions: [partition] }])
    } catch (error) {
      connection.log.debug({ err: error, groupId }, `no ${act}: the consumer restarts`)
    }
  }
}
