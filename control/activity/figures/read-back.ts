import { setTimeout as sleep } from 'node:timers/promises'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { CLOSE_MS } from '../../../kafka/client.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Begun } from '../../../kafka/tables/tail.ts'
import { within } from '../../../process/timeout.ts'
import { ATTEMPTS } from '../../../schemas/topics.ts'
import { MINUTE_MS, WINDOWS } from './series.ts'

export type ReadBack = {
  /** Everything since this time has been read (ms since 1970); null: all of the longest window. */
  since(): number | null
  close(): Promise<void>
}

type PastReader = Pick<Reader, 'read' | 'close'> & { offsets: Pick<Offsets, 'at' | 'bounds' | 'close'> }

export type ReadBackOptions = {
  /** Records before these tails are read here. */
  begun: readonly Begun[]
  open: () => Promise<PastReader>
  /** Called once per record, in no order. Must not throw or store the value. */
  onRecord: (value: Buffer | null) => void
  onFailed: (error: unknown) => void
  now: () => number
  most?: number
  /** Records per partition before each pause. */
  chunk?: number
  retryMs?: number
}

const STEP_MS = 5 * MINUTE_MS
const LONGEST_MS = WINDOWS['24h'].bucketMs * WINDOWS['24h'].buckets
const MOST = 10_000_000
const CHUNK = 5_000
/** Pauses three times as long as it reads. */
const REST = 3
const RETRY_MS = 5_000

/**
 * Reads attempts of the last day from before the start, newest first. Records are written after their POST, so those
 * since a time include all POSTs begun since then.
 */
export function readBack(options: ReadBackOptions): ReadBack {
  const { begun, open, onRecord, onFailed, now, most = MOST, chunk = CHUNK, retryMs = RETRY_MS } = options
  const closing = new AbortController()
  const startedAt = now()
  const backlog = createBacklog(begun, { startedAt, chunk })
  let since: number | null = backlog.isEmpty ? null : startedAt
  let records = 0
  let current: Part | undefined

  const isOver = () => since === null || records >= most || closing.signal.aborted
  const pause = (ms: number) => sleep(ms, undefined, closing).catch(() => undefined)

  function count(value: Buffer | null): void {
    records += 1
    onRecord(value)
  }

  async function readAll({ read, offsets }: PastReader): Promise<void> {
    if (current) await dropRemoved(current.ranges, offsets)
    while (!isOver()) {
      current ??= await backlog.next(offsets)
      const unread = current.ranges.filter(({ from, to }) => from < to)
      if (unread.length > 0) {
        const beganAt = performance.now()
        await readChunks(unread, { read, chunk, onRecord: count })
        await pause((performance.now() - beganAt) * REST)
      } else {
        since = current.since
        current = undefined
      }
    }
  }

  async function run(): Promise<void> {
    while (!isOver())
      try {
        await withReader(open, readAll)
      } catch (error) {
        if (closing.signal.aborted) return
        onFailed(error)
        await pause(retryMs)
      }
  }

  const running = run()
  return {
    since: () => since,
    async close() {
      closing.abort()
      await within(CLOSE_MS, running)
    },
  }
}

async function withReader(
  open: () => Promise<PastReader>,
  use: (reader: PastReader) => Promise<void>,
): Promise<void> {
  const reader = await open()
  try {
    await use(reader)
  } finally {
    await Promise.all([reader.close(), reader.offsets.close()])
  }
}

type Reading = { read: Reader['read']; chunk: number; onRecord: (value: Buffer | null) => void }

/** Reads one chunk of each range. After a failure, the next call continues behind the last record that was read. */
async function readChunks(ranges: readonly Range[], { read, chunk, onRecord }: Reading): Promise<void> {
  const reading = ranges.map(async (range) => {
    const to = Math.min(range.to, range.from + chunk)
    await read({ ...range, to }, (value, offset) => {
      range.from = offset + 1
      onRecord(value)
    })
    range.from = to
  })
  // all reads must end before the next call begins
  for (const ended of await Promise.allSettled(reading)) if (ended.status === 'rejected') throw ended.reason
}

/** `since`: the value of `since()` once the ranges are read. */
type Part = { since: number | null; ranges: Range[] }

type Backlog = {
  isEmpty: boolean
  /** Joins steps that have few records. */
  next(offsets: Pick<Offsets, 'at'>): Promise<Part>
}

function createBacklog(
  begun: readonly Begun[],
  { startedAt, chunk }: { startedAt: number; chunk: number },
): Backlog {
  /** Unread: from `low` to before `to`. */
  const left = begun
    .filter(({ low, from }) => from > low)
    .map(({ partition, low, from }) => ({ partition, low, to: from }))
  const steps = stepsBefore(startedAt)

  async function rangesSince(time: number, offsets: Pick<Offsets, 'at'>): Promise<Range[]> {
    const at = new Map((await offsets.at(ATTEMPTS, time)).map(({ partition, offset }) => [partition, offset]))
    return left.map(({ partition, low, to }) => {
      const from = Math.max(low, Math.min(to, at.get(partition) ?? low))
      return { partition, from, to }
    })
  }

  return {
    isEmpty: left.length === 0,
    async next(offsets) {
      let time = steps.shift() ?? 0
      let ranges = await rangesSince(time, offsets)
      for (; countOf(ranges) < chunk && steps.length > 0; ranges = await rangesSince(time, offsets))
        time = steps.shift() ?? 0
      for (const [place, spot] of left.entries()) spot.to = ranges[place]?.from ?? spot.to
      const isAll = steps.length === 0 || left.every(({ low, to }) => to <= low)
      return { since: isAll ? null : time, ranges }
    },
  }
}

const countOf = (ranges: readonly Range[]) => ranges.reduce((sum, { from, to }) => sum + to - from, 0)

/** The topic may have been emptied or recreated in the meantime. */
async function dropRemoved(ranges: readonly Range[], offsets: Pick<Offsets, 'bounds'>): Promise<void> {
  const bounds = new Map((await offsets.bounds(ATTEMPTS)).map((each) => [each.partition, each]))
  for (const range of ranges) {
    const { low = 0, end = 0 } = bounds.get(range.partition) ?? {}
    range.from = Math.max(range.from, low)
    range.to = Math.min(range.to, end)
  }
}

/** Newest first. */
function stepsBefore(now: number): number[] {
  const newest = Math.floor(now / STEP_MS) * STEP_MS
  return Array.from({ length: Math.ceil(LONGEST_MS / STEP_MS) + 1 }, (_, step) => newest - step * STEP_MS)
}
