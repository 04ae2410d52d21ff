import pRetry from 'p-retry'
import { whileAway } from '../admin/failures.ts'
import type { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { type LogEnd, logEnds } from '../patches/log-watch/log-ends.ts'

/** By topic and partition. `base`: the first offset; -1 if not reported. */
export type Acked = ReadonlyMap<string, ReadonlyMap<number, { base: number; count: number }>>

/** By topic, as named on the broker, and partition. */
export type AckedSnapshot = ReadonlyMap<string, ReadonlyMap<number, number>>

type Report = ReturnType<typeof createFaultReporter>

/**
 * Up to where Kafka has acknowledged what a producer wrote. Acknowledged offsets only grow, unless the log has lost its
 * end or was recreated (docs/decisions/019-log-watch.md).
 */
export class AckedEnds {
  readonly #report: Report
  readonly #topics = new Map<string, { id: string | undefined; ends: Map<number, number> }>()

  constructor(report: Report) {
    this.#report = report
  }

  add(acked: Acked): void {
    for (const [topic, partitions] of acked) {
      const known = this.#topics.get(topic) ?? { id: undefined, ends: new Map<number, number>() }
      this.#topics.set(topic, known)
      const { ends } = known
      for (const [partition, { base, count }] of partitions) {
        if (base < 0) continue
        const end = ends.get(partition) ?? 0
        ends.set(partition, base + count)
        if (base < end) this.#lost(topic, partition, { end, to: base })
      }
    }
  }

  /** Call it before `compare` asks for the ends of the logs. */
  snapshot(): AckedSnapshot {
    return new Map([...this.#topics].map(([topic, { ends }]) => [topic, new Map(ends)]))
  }

  /** Also finds losses in partitions that get no more records. */
  compare(before: AckedSnapshot, present: readonly LogEnd[]): void {
    for (const { topic, id, partition, end: to } of present) {
      const known = this.#topics.get(topic)
      if (!known) continue
      // it was deleted and created again
      if (known.id !== undefined && known.id !== id) known.ends.clear()
      known.id = id
      const end = before.get(topic)?.get(partition)
      // `add` has compared what was acknowledged meanwhile
      if (end === undefined || to >= end || known.ends.get(partition) !== end) continue
      known.ends.set(partition, to)
      this.#lost(topic, partition, { end, to })
    }
  }

  #lost(topic: string, partition: number, { end, to }: { end: number; to: number }): void {
    this.#report({ topic, partition, cause: 'truncated', offset: end, to })
  }
}

/** About ten minutes: a broker may come back long after the others. */
const RETRY = { ...whileAway, retries: 150, unref: true }

/**
 * Compares after each election: the new leader may have lost records.
 * @returns a function that ends it.
 */
export function compareAfterElections(connection: Connection, acked: AckedEnds): () => void {
  const { elections, log } = connection
  let isWanted = false
  let isRunning = false
  let isClosed = false

  async function compare(): Promise<void> {
    const before = acked.snapshot()
    if (before.size === 0 || isClosed) return
    const { ends, failed } = await logEnds(connection, [...before.keys()])
    acked.compare(before, ends)
    if (failed) throw failed
  }

  async function run(): Promise<void> {
    isRunning = true
    while (isWanted && !isClosed) {
      isWanted = false
      // a further election starts the comparison again
      const shouldRetry = () => !isClosed && !isWanted
      await pRetry(compare, { ...RETRY, shouldRetry }).catch((err) => {
        if (shouldRetry())
          log.warn({ err }, 'what was written could not be compared with all logs: a loss may go unreported')
      })
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
