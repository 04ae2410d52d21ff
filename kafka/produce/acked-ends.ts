import pRetry from 'p-retry'
import { whileAway } from '../admin/failures.ts'
import type { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { type LogEnd, logEnds } from '../patches/log-watch/log-ends.ts'

/** By topic and partition. `base`: the first offset; -1 if not reported. */
export type Acked = ReadonlyMap<string, ReadonlyMap<number, { base: number; count: number }>>

/** By topic, as named on the broker. */
export type AckedSnapshot = ReadonlyMap<string, Ends>

type Report = ReturnType<typeof createFaultReporter>
/** By partition. */
type Ends = { ends: Map<number, number>; losses: Map<number, number> }
type Known = Ends & { id: string | undefined }

/**
 * Up to where Kafka has acknowledged what a producer wrote. Acknowledged offsets only grow, unless the log has lost its
 * end or was recreated (docs/decisions/019-log-watch.md).
 */
export class AckedEnds {
  readonly #report: Report
  readonly #onLoss: () => void
  readonly #topics = new Map<string, Known>()

  /** @param onLoss must have the logs compared, because the loss may begin before the offset that shows it. */
  constructor(report: Report, onLoss: () => void) {
    this.#report = report
    this.#onLoss = onLoss
  }

  add(acked: Acked): void {
    for (const [topic, partitions] of acked) {
      const known = this.#topics.get(topic) ?? { id: undefined, ends: new Map(), losses: new Map() }
      this.#topics.set(topic, known)
      const { ends, losses } = known
      for (const [partition, { base, count }] of partitions) {
        if (base < 0) continue
        const end = ends.get(partition) ?? 0
        ends.set(partition, base + count)
        if (base >= end) continue
        this.#lost(topic, partition, { end, to: base })
        losses.set(partition, base)
        this.#onLoss()
      }
    }
  }

  /** Call it before `compare` asks for the ends of the logs. */
  snapshot(): AckedSnapshot {
    const copy = ({ ends, losses }: Ends): Ends => ({ ends: new Map(ends), losses: new Map(losses) })
    return new Map([...this.#topics].map(([topic, known]) => [topic, copy(known)]))
  }

  /** Also finds losses in partitions that get no more records, and where the losses that `add` noticed begin. */
  compare(before: AckedSnapshot, present: readonly LogEnd[]): void {
    for (const { topic, id, partition, ...log } of present) {
      const known = this.#topics.get(topic)
      if (!known) continue
      if (known.id !== undefined && known.id !== id) {
        // it was deleted and created again
        known.ends.clear()
        known.losses.clear()
      }
      known.id = id
      this.#compareLog(topic, known, before.get(topic), { partition, ...log })
    }
  }

  /** Others may have written after the loss, so the log was cut where its last epoch starts, not where it ends. */
  #compareLog(
    topic: string,
    { ends, losses }: Known,
    asked: Ends | undefined,
    { partition, start, end }: Omit<LogEnd, 'topic' | 'id'>,
  ): void {
    // a leader that answered before the loss does not know where it began
    const loss = asked?.losses.get(partition)
    if (loss !== undefined && losses.get(partition) === loss) {
      losses.delete(partition)
      if (start < loss) this.#lost(topic, partition, { end: loss, to: start })
    }
    const before = asked?.ends.get(partition)
    // `add` has compared what was acknowledged meanwhile
    if (before === undefined || end >= before || ends.get(partition) !== before) return
    ends.set(partition, end)
    this.#lost(topic, partition, { end: before, to: Math.min(start, end) })
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
