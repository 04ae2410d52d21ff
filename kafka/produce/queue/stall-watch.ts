import type { Logger } from '../../../process/log.ts'
import type { FailureLog } from '../../admin/failures.ts'

/** If a send waits this long while brokers answer, its topic accepts no writes. */
const STALL_MS = 10_000

type Parts = { failures: Pick<FailureLog, 'reachableSince'>; log: Pick<Logger, 'info' | 'warn'> }

/**
 * Measures how long Kafka has acknowledged nothing. Logs once if it answers, but takes no writes. Times are in ms of
 * the monotonic clock.
 */
export class StallWatch {
  readonly #failures: Parts['failures']
  readonly #log: Parts['log']
  #send: { topics: () => string[]; since: number } | undefined
  #ackedAt = Number.NEGATIVE_INFINITY
  /** What was logged of this send. */
  #stalled: { topics: string[] } | undefined

  constructor({ failures, log }: Parts) {
    this.#failures = failures
    this.#log = log
  }

  began(records: readonly { topic: string }[], now: number): void {
    this.#send = { topics: () => [...new Set(records.map(({ topic }) => topic))], since: now }
  }

  ended(acked: number, now: number): void {
    const seconds = (now - (this.#send?.since ?? now)) / 1000
    if (acked > 0) this.#ackedAt = now
    const fields = this.#stalled && { ...this.#stalled, seconds: Math.round(seconds) }
    if (fields) this.#log.info(fields, 'Kafka takes writes again')
    this.#stalled = undefined
    this.#send = undefined
  }

  /** Call it regularly while records are queued. */
  check(now: number): void {
    const reachableSince = this.#failures.reachableSince()
    if (this.#stalled || !this.#send || reachableSince === undefined) return
    if (now - Math.max(this.#send.since, reachableSince) < STALL_MS) return
    this.#stalled = { topics: this.#send.topics() }
    this.#log.warn(this.#stalled, 'Kafka does not take writes')
  }

  /** @param unwritableMs how long records have waited for unwritable partitions. */
  stalledMs(now: number, unwritableMs: number): number {
    const sendingMs = this.#send ? now - this.#send.since : 0
    return now - this.#ackedAt > unwritableMs ? Math.max(sendingMs, unwritableMs) : sendingMs
  }
}
