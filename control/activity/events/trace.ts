import type { Ladder } from '../../../delivery/ladder.ts'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import type { Decoded } from '../../../kafka/consume/record.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Codec } from '../../../schemas/codec.ts'
import { ATTEMPTS } from '../../../schemas/topics.ts'
import { afterAttempt, isHold } from './delivery-status.ts'

export type Incomplete = { deliveryId: string; destinationId: string; receivedAt: number }

/**
 * Finds attempts that are no longer in memory, in the topic: each says when the next was due. Leaves out what it
 * does not find in time. Rejects if Kafka does not answer.
 * @returns by deliveryId, oldest first.
 */
export type Trace = (incomplete: readonly Incomplete[], until: number) => Promise<Map<string, Attempt[]>>

export type TraceParts = {
  openOffsets: () => Promise<Pick<Offsets, 'at' | 'close'>>
  reader: Pick<Reader, 'read' | 'partitions'>
  codec: Pick<Codec<Attempt>, 'decode'>
  ladder: Ladder
  responseTimeoutMs: number
  maxMs?: number
}

const MAX_MS = 2_000
/** What a destination with a thousand attempts a second writes in that time. */
const MAX_RECORDS = 20_000
/** Clocks may make an attempt early. Waiting makes it late, and its record is written at its end. */
const EARLIER_MS = 2_000
const LATER_MS = 15_000

/** Looks for the next attempt at these `times`, in order. `known`: what was found so far (`progressOf`). */
type Lead = { of: Incomplete; known: string; times: readonly number[] }

/** A new hold replaces the last one, so the count alone does not show progress. */
const progressOf = (attempts: readonly Attempt[]) => `${attempts.length} ${attempts.at(-1)?.startedAt}`

/** All deliveries together: neighbours in a list can share a read. */
export function createTrace(parts: TraceParts): Trace {
  const { openOffsets, reader, ladder, maxMs = MAX_MS } = parts
  const partitionFor = ({ of }: Lead) => partitionOf(Buffer.from(of.destinationId), reader.partitions)

  function leadAfter(attempts: readonly Attempt[], { of, known, times }: Lead): Lead {
    const found = progressOf(attempts)
    if (found === known) return { of, known, times: times.slice(1) }
    return { of, known: found, times: nextAttemptTimes(attempts, of.receivedAt, ladder) }
  }

  return async (incomplete, until) => {
    const traced = new Map<string, Attempt[]>()
    if (incomplete.length === 0) return traced
    for (const { deliveryId } of incomplete) traced.set(deliveryId, [])
    const begun = performance.now()
    const isOver = () => performance.now() - begun > maxMs
    const offsets = await openOffsets()
    let leads: Lead[] = incomplete.map((of) => ({ of, known: progressOf([]), times: [of.receivedAt] }))
    try {
      for (;;) {
        leads = leads.filter(({ times: [time] }) => time !== undefined && time < until)
        if (leads.length === 0 || isOver()) return traced
        for (const [partition, group] of Map.groupBy(leads, partitionFor))
          await readSpan(group.toSorted(earliestFirst), { ...parts, partition, offsets, traced, isOver })
        leads = leads.map((lead) => leadAfter(traced.get(lead.of.deliveryId) ?? [], lead))
      }
    } finally {
      await offsets.close()
    }
  }
}

const timeOf = ({ times: [time = 0] }: Lead) => time
const earliestFirst = (a: Lead, b: Lead) => timeOf(a) - timeOf(b)

type Reading = Pick<TraceParts, 'reader' | 'codec' | 'responseTimeoutMs'> & {
  partition: number
  offsets: Pick<Offsets, 'at'>
  traced: Map<string, Attempt[]>
  isOver: () => boolean
}

/** Reads once if few records lie between the leads, otherwise each half. */
async function readSpan(leads: readonly Lead[], reading: Reading): Promise<void> {
  const [first, last] = [leads[0], leads.at(-1)]
  if (!first || !last || reading.isOver()) return
  const { partition, offsets, responseTimeoutMs } = reading
  const offsetAt = async (time: number) =>
    (await offsets.at(ATTEMPTS, time)).find((each) => each.partition === partition)?.offset ?? 0
  const [from, end] = await Promise.all([
    offsetAt(Math.max(0, timeOf(first) - EARLIER_MS)),
    offsetAt(timeOf(last) + LATER_MS + responseTimeoutMs),
  ])
  if (end - from > MAX_RECORDS && timeOf(last) - timeOf(first) > EARLIER_MS) {
    const middle = leads.length >>> 1
    await readSpan(leads.slice(0, middle), reading)
    await readSpan(leads.slice(middle), reading)
  } else await readAttempts(leads, { from, to: Math.min(end, from + MAX_RECORDS) }, reading)
}

/** Above this, decoding records is cheaper than searching their bytes. */
const MAX_NEEDLES = 8

async function readAttempts(
  leads: readonly Lead[],
  range: { from: number; to: number },
  { reader, codec, partition, traced }: Reading,
): Promise<void> {
  const ids = new Set(leads.map(({ of }) => of.deliveryId))
  const needles = ids.size > MAX_NEEDLES ? [] : [...ids].map((id) => Buffer.from(id))
  const found: (Decoded<Attempt> | Promise<Decoded<Attempt>>)[] = []
  await reader.read({ partition, ...range }, (value) => {
    if (!value || (needles.length > 0 && !needles.some((needle) => value.includes(needle)))) return
    found.push(codec.decode(value))
  })
  const attempts = (await Promise.all(found)).flatMap((each) => (each.ok ? each.value : []))
  for (const [id, of] of Map.groupBy(attempts, ({ deliveryId }) => deliveryId))
    if (ids.has(id)) traced.set(id, mergeAttempts(traced.get(id) ?? [], of))
}

/**
 * A delivery has at most fifty POSTs and some deferrals. But calls with the same messageId share their deliveryId, even
 * if they name different users: 5,000 such calls once made a page of 58 MB.
 */
export const MAX_ATTEMPTS = 100

/** The latest ones, without duplicates, oldest first. Of a hundred holds, only the last is kept. */
export function mergeAttempts(some: readonly Attempt[], others: readonly Attempt[]): Attempt[] {
  const all = new Map([...some, ...others].map((each) => [keyOf(each), each]))
  const sorted = [...all.values()].sort((a, b) => a.startedAt - b.startedAt)
  const lastHold = sorted.findLast(isHold)
  return sorted.filter((each) => each === lastHold || !isHold(each)).slice(-MAX_ATTEMPTS)
}

const keyOf = ({ attempt, urlIndex, startedAt, outcome }: Attempt) =>
  `${attempt}/${urlIndex}/${startedAt}/${outcome}`

/**
 * When the next attempt was or is due, in ms since 1970; if uncertain, all candidates, earliest first. Empty if the
 * delivery is over.
 * @param attempts known ones, oldest first.
 */
export function nextAttemptTimes(attempts: readonly Attempt[], receivedAt: number, ladder: Ladder): number[] {
  const last = attempts.at(-1)
  if (!last) return [receivedAt]
  if (attempts.some(({ outcome }) => outcome === 'delivered' || outcome === 'cancelled')) return []
  const { state, nextAttemptAt } = afterAttempt(attempts, last, ladder)
  if (nextAttemptAt !== null) return [nextAttemptAt]
  if (state !== 'deferred' && state !== 'held') return []
  // deferred to a rung that the log does not name
  const delays = new Set(ladder.ladder.map(({ delayMs }) => delayMs))
  return [...delays].sort((a, b) => a - b).map((delayMs) => last.startedAt + delayMs)
}
