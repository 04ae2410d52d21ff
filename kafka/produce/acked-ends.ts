import pRetry from 'p-retry'
import { whileAway } from '../admin/failures.ts'
import type { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { type BoundsOf, boundsOf } from '../tables/ranges.ts'

/** By topic and partition. `base`: the first offset; -1 if not reported. */
export type Acked = ReadonlyMap<string, ReadonlyMap<number, { base: number; count: number }>>

type Report = ReturnType<typeof createFaultReporter>

/**
 * Up to where Kafka has acknowledged what a producer wrote. Acknowledged offsets only grow, unless the log has lost its
 * end or was recreated (docs/decisions/019-log-watch.md).
 */
export class AckedEnds {
  readonly #report: Report
  readonly #ends = new Map<string, Map<number, number>>()

  constructor(report: Report) {
    this.#report = report
  }

  add(acked: Acked): void {
    for (const [topic, partitions] of acked) {
      const ends = this.#ends.get(topic) ?? new Map<number, number>()
      this.#ends.set(topic, ends)
      for (const [partition, { base, count }] of partitions) {
        if (base < 0) continue
        const end = ends.get(partition) ?? 0
        ends.set(partition, base + count)
        if (base < end) this.#lost(topic, partition, { end, to: base })
      }
    }
  }

  /** Compares with the present ends of the logs, also of partitions that get no more records. */
  async compare(present: (topic: string) => Promise<BoundsOf>): Promise<void> {
    for (const [topic, ends] of this.#ends) {
      const before = new Map(ends)
      for (const [partition, { high }] of await present(topic)) {
        const end = before.get(partition) ?? 0
        // `add` has compared what was acknowledged meanwhile
        if (high >= end || ends.get(partition) !== end) continue
        ends.set(partition, high)
        this.#lost(topic, partition, { end, to: high })
      }
    }
  }

  #lost(topic: string, partition: number, { end, to }: { end: number; to: number }): void {
    this.#report({ topic, partition, cause: 'truncated', offset: end, to })
  }
}

/**
 * Compares after each election: the new leader may have lost records.
 * @returns a function that ends it.
 */
export function compareAfterElections(connection: Connection, ends: AckedEnds): () => void {
  const { kafka, elections, log } = connection
  let isWanted = false
  let isRunning = false
  let isClosed = false

  async function compare(): Promise<void> {
    const admin = kafka.admin()
    try {
      await admin.connect()
      await ends.compare((topic) => boundsOf(admin, topic))
    } finally {
      await admin.disconnect().catch(() => undefined)
    }
  }

  async function run(): Promise<void> {
    isRunning = true
    while (isWanted && !isClosed) {
      isWanted = false
      await pRetry(compare, { ...whileAway, unref: true, shouldRetry: () => !isClosed && !isWanted }).catch(
        (err) => log.debug({ err }, 'the ends of the logs were not compared with what was written'),
      )
    }
    isRunning = false
  }

  function onElection(): void {
    isWanted = true
    if (!isRunning) void run()
  }

  elections.on('election', onElection)
  return () => {
    isClosed = true
    elections.off('election', onElection)
  }
}
