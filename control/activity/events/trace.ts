import type { Ladder } from '../../../delivery/ladder.ts'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import type { Decoded } from '../../../kafka/consume/record.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { ATTEMPTS } from '../../../schemas/topics.ts'
import { afterAttempt } from './delivery-status.ts'

export type Incomplete = { deliveryId: string; destinationId: string; receivedAt: number }

/**
 * Finds attempts that are no longer in memory, by looking in the topic where they should be: each attempt
 * says when the next was due. Leaves out what it does not find in time. Rejects if Kafka does not answer.
 * @returns by deliveryId, oldest first.
 */
export type Trace = (incomplete: readonly Incomplete[], until: number) => Promise<Map<string, Attempt[]>>

export type TraceParts = {
  openOffsets: () => Promise<Pick<Offsets, 'at' | 'close'>>
  reader: Pick<Reader, 'read' | 'partitions'>
  codec: Pick<Codec<Attempt>, 'decode'>
  ladder: Ladder
  maxMs?: number
}

const MAX_MS = 2_000
/** For one read: about what a destination with a thousand attempts a second writes in that time. */
const MAX_RECORDS = 20_000
/** Clocks may make an attempt early, and waiting makes it late. */
const EARLIER_MS = 2_000
const LATER_MS = 20_000

export function createTrace(parts: TraceParts): Trace {
  const { openOffsets, reader, codec, ladder, maxMs = MAX_MS } = parts
  async function readAround(
    { deliveryId, destinationId }: Incomplete,
    time: number,
    offsets: Pick<Offsets, 'at'>,
  ): Promise<Attempt[]> {
    const partition = partitionOf(Buffer.from(destinationId), reader.partitions)
    const offsetAt = async (at: number) =>
      (await offsets.at(ATTEMPTS, at)).find((each) => each.partition === partition)?.offset ?? 0
    const [from, end] = await Promise.all([
      offsetAt(Math.max(0, time - EARLIER_MS)),
      offsetAt(time + LATER_MS),
    ])
    const to = Math.min(end, from + MAX_RECORDS)
    const needle = Buffer.from(deliveryId)
    const found: (Decoded<Attempt> | Promise<Decoded<Attempt>>)[] = []
    await reader.read({ partition, from, to }, (value) => {
      if (value?.includes(needle)) found.push(codec.decode(value))
    })
    const decoded = await Promise.all(found)
    return decoded
      .flatMap((each) => (each.ok ? each.value : []))
      .filter((attempt) => attempt.deliveryId === deliveryId)
  }

  async function traceOne(
    incomplete: Incomplete,
    by: { offsets: Pick<Offsets, 'at'>; until: number; isOver: () => boolean },
  ): Promise<Attempt[]> {
    let attempts: Attempt[] = []
    for (;;) {
      const before = attempts.length
      for (const time of nextAttemptTimes(attempts, incomplete.receivedAt, ladder)) {
        if (by.isOver() || time >= by.until) return attempts
        attempts = mergeAttempts(attempts, await readAround(incomplete, time, by.offsets))
        if (attempts.length > before) break
      }
      if (attempts.length === before) return attempts
    }
  }

  return async (incomplete, until) => {
    const traced = new Map<string, Attempt[]>()
    if (incomplete.length === 0) return traced
    const begun = performance.now()
    const isOver = () => performance.now() - begun > maxMs
    const offsets = await openOffsets()
    try {
      for (const each of incomplete)
        traced.set(each.deliveryId, await traceOne(each, { offsets, until, isOver }))
    } finally {
      await offsets.close()
    }
    return traced
  }
}

/** Without duplicates, oldest first. */
export function mergeAttempts(some: readonly Attempt[], others: readonly Attempt[]): Attempt[] {
  const all = new Map([...some, ...others].map((each) => [keyOf(each), each]))
  return [...all.values()].sort((a, b) => a.startedAt - b.startedAt)
}

const keyOf = ({ attempt, urlIndex, startedAt, outcome }: Attempt) =>
  `${attempt}/${urlIndex}/${startedAt}/${outcome}`

/**
 * When the next attempt was or is due, in ms since 1970: all candidates, earliest first, if it is not
 * certain. Empty if the delivery is over.
 * @param attempts those that are known, oldest first.
 */
export function nextAttemptTimes(attempts: readonly Attempt[], receivedAt: number, ladder: Ladder): number[] {
  const last = attempts.at(-1)
  if (!last) return [receivedAt]
  if (attempts.some(({ outcome }) => outcome === 'delivered' || outcome === 'cancelled')) return []
  const { state, nextAttemptAt } = afterAttempt(attempts, last, ladder)
  if (state !== 'retrying') return []
  if (nextAttemptAt !== null) return [nextAttemptAt]
  // deferred to a rung that the log does not name
  const delays = new Set(ladder.ladder.map(({ delayMs }) => delayMs))
  return [...delays].sort((a, b) => a - b).map((delayMs) => last.startedAt + delayMs)
}
