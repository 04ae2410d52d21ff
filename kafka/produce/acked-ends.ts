import pRetry from 'p-retry'
import { whileAway } from '../admin/failures.ts'
import type { createFaultReporter } from '../admin/lost-records.ts'
import type { Connection } from '../client.ts'
import { type LogEnd, logEnds } from '../patches/log-watch/log-ends.ts'

/** By topic and partition. `base`: the first offset; -1 if not reported. `leader`: the broker that acknowledged it. */
export type Acked = ReadonlyMap<string, ReadonlyMap<number, AckedPart>>
export type AckedPart = { base: number; count: number; leader?: number | undefined }

/** By topic, as named on the broker. */
export type AckedSnapshot = ReadonlyMap<string, Ends>

type Report = ReturnType<typeof createFaultReporter>
/**
 * By partition. `leaders`: which broker acknowledged the end. `moved`: the end that an earlier leader acknowledged, if it
 * has not been compared with the present leader's log. `losses`: the offset that was acknowledged again.
 */
type Ends = Record<'ends' | 'leaders' | 'moved' | 'losses', Map<number, number>>
type Known = Ends & { id: string | undefined }

const copyOf = ({ ends, leaders, moved, losses }: Ends): Ends => ({
  ends: new Map(ends),
  leaders: new Map(leaders),
  moved: new Map(moved),
  losses: new Map(losses),
})
const nothing = (): Ends => ({ ends: new Map(), leaders: new Map(), moved: new Map(), losses: new Map() })

/**
 * Up to where Kafka has acknowledged what a producer wrote. Acknowledged offsets only grow, unless the log has lost its
 * end or was recreated (docs/decisions/019-log-watch.md).
 */
export class AckedEnds {
  readonly #report: Report
  readonly #onDoubt: () => void
  readonly #topics = new Map<string, Known>()

  /**
   * @param onDoubt must have the logs compared: after a loss, which may begin before the offset that shows it, and if
   * another broker acknowledges records than before, because others may have written as many as were lost.
   */
  constructor(report: Report, onDoubt: () => void) {
    this.#report = report
    this.#onDoubt = onDoubt
  }

  add(acked: Acked): void {
    for (const [topic, partitions] of acked) {
      const known = this.#topics.get(topic) ?? { id: undefined, ...nothing() }
      this.#topics.set(topic, known)
      for (const [partition, part] of partitions) this.#addPart(topic, known, { partition, ...part })
    }
  }

  #addPart(
    topic: string,
    { ends, leaders, moved, losses }: Known,
    { partition, base, count, leader }: AckedPart & { partition: number },
  ): void {
    if (base < 0) return
    const end = ends.get(partition) ?? 0
    const earlier = leaders.get(partition)
    ends.set(partition, base + count)
    if (leader !== undefined) leaders.set(partition, leader)
    if (base < end) {
      this.#lost(topic, partition, { end, to: base })
      losses.set(partition, base)
      // the comparison that follows covers it
      moved.delete(partition)
    } else if (earlier !== undefined && leader !== undefined && leader !== earlier) moved.set(partition, end)
    else return
    this.#onDoubt()
  }

  /** Call it before `compare` asks for the ends of the logs. */
  snapshot(): AckedSnapshot {
    return new Map([...this.#topics].map(([topic, known]) => [topic, copyOf(known)]))
  }

  /**
   * Also finds losses in partitions that get no more records, and where the losses that `add` noticed begin.
   * @param isComplete all brokers have answered, so `present` names the newest leaders.
   */
  compare(before: AckedSnapshot, present: readonly LogEnd[], isComplete: boolean): void {
    for (const { topic, id, partition, ...log } of present) {
      const known = this.#topics.get(topic)
      if (!known) continue
      if (known.id !== undefined && known.id !== id) {
        // it was deleted and created again
        Object.assign(known, nothing())
      }
      known.id = id
      this.#compareLog({ topic, id, partition, ...log }, known, { asked: before.get(topic), isComplete })
    }
  }

  /**
   * Others may have written after the loss, even as many records as were lost. So the log was cut where its last epoch
   * starts, not where it ends. If several signs show a loss, one report covers them all.
   */
  #compareLog(
    { topic, partition, leader, start, end }: LogEnd,
    known: Known,
    { asked, isComplete }: { asked: Ends | undefined; isComplete: boolean },
  ): void {
    // undefined if `add` has changed it meanwhile: a leader that answered before that does not know
    function unchanged(what: keyof Ends): number | undefined {
      const value = asked?.[what].get(partition)
      return known[what].get(partition) === value ? value : undefined
    }
    const { ends, leaders, moved, losses } = known
    const knowsEpochs = isComplete && start >= 0
    const [last, by, loss, earlier] = (['ends', 'leaders', 'losses', 'moved'] as const).map(unchanged)
    const isOther = knowsEpochs && by !== undefined && by !== leader
    const gone = [loss, knowsEpochs ? earlier : undefined]
    if (last !== undefined && (end < last || isOther)) {
      gone.push(last)
      leaders.set(partition, leader)
      ends.set(partition, end < last ? end : Math.min(last, start))
    }
    const from = Math.max(...gone.map((offset) => offset ?? 0))
    const to = Math.max(0, Math.min(start, end))
    if (loss !== undefined) losses.delete(partition)
    if (earlier !== undefined && (knowsEpochs || to < from)) moved.delete(partition)
    if (to < from) this.#lost(topic, partition, { end: from, to })
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
    acked.compare(before, ends, failed === undefined)
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
