import { setTimeout as sleep } from 'node:timers/promises'
import type { FailureLog } from '../../kafka/admin/failures.ts'
import type { PartitionWatch } from '../../kafka/consume/assignment.ts'
import type { Reader } from '../../kafka/tables/reader.ts'
import type { Logger } from '../../process/log.ts'
import { SEEN } from '../../schemas/topics.ts'
import { type SeenWriter, type SeenWriterParts, seenWriter, unpack } from './seen.ts'
import { createWindow, type Window } from './window.ts'

/** A partition's window and where it is written. */
export type Remembered = Pick<Window, 'admit'> & SeenWriter

export type Duplicates = {
  /** @returns undefined while the window is loaded: the partition waits. */
  of(partition: number): Remembered | undefined
  /** To be told by the consumer. */
  watch: PartitionWatch
  /** How many ids are remembered, and how many bytes they take. */
  size(): { ids: number; bytes: number }
  /** At the end: nothing more is loaded. */
  forget(): void
}

export type DuplicatesOptions = SeenWriterParts & {
  /** Of topic `router.seen`. */
  reader: Pick<Reader, 'partitions' | 'bounds' | 'read'>
  windowMs: number
  /** Told when a partition's window is loaded, or has not been within the time that routing waits for it. */
  onLoad: (outcome: 'loaded' | 'late') => void
  /** So long routing waits for a window at most: two seconds unless told. */
  waitMs?: number
  log: Logger
  failures: Pick<FailureLog, 'add'>
}

/** Routing waits at most so long for a window; events wait longer than a duplicate is worth. */
const WAIT_MS = 2_000
const RETRY_MS = 250

type Gained = Parameters<PartitionWatch['gained']>[0][number]
type Kept = Remembered & { window: Window; mayRoute: boolean }

/** The windows of the partitions that this process routes. They survive it in `router.seen` (docs/understand/guarantees.md, "Duplicates"). */
export function createDuplicates(options: DuplicatesOptions): Duplicates {
  const { reader, windowMs, onLoad, log, failures, waitMs = WAIT_MS } = options
  const kept = new Map<number, Kept>()

  function remember(partition: number): Kept {
    const window = createWindow({ windowMs })
    const isWritable = partition < reader.partitions
    if (!isWritable)
      log.error(
        { partition },
        `${SEEN} has too few partitions: duplicates pass after a restart; add some, restart`,
      )
    const { write } = isWritable ? seenWriter(options, partition) : unwritten
    const mine: Kept = { window, admit: window.admit, write, mayRoute: false }
    kept.set(partition, mine)
    return mine
  }

  /** Tries until it has succeeded or the partition is gone. */
  async function recall(
    { partition, lostFrom }: Gained,
    mine: Kept,
    bounds: ReturnType<Reader['bounds']>,
  ): Promise<void> {
    const { window } = mine
    const isWanted = () => kept.get(partition) === mine
    const read: LoadOptions['read'] = (from, to, onValue) => reader.read({ partition, from, to }, onValue)
    const onUnreadable = (offset: number) =>
      log.warn({ topic: SEEN, partition, offset }, 'a record of ids cannot be read; it is skipped')
    let ask = () => bounds
    while (isWanted()) {
      try {
        const { low, high } = (await ask()).get(partition) ?? { low: 0, high: 0 }
        const parts = { read, isWanted, window, windowMs, onUnreadable }
        return await load({ ...parts, low, high, lostFrom, now: Date.now() })
      } catch (err) {
        const text = 'the ids routed before cannot be loaded yet'
        if (isWanted()) failures.add({ kind: SEEN, text, err, fields: { partition } })
        ask = reader.bounds
        await sleep(RETRY_MS)
      }
    }
  }

  async function loaded(gained: Gained, mine: Kept, bounds: ReturnType<Reader['bounds']>): Promise<void> {
    const { partition } = gained
    const from = performance.now()
    const isWanted = () => kept.get(partition) === mine
    const limit = setTimeout(() => {
      if (!isWanted()) return
      mine.mayRoute = true
      onLoad('late')
      log.warn({ partition }, 'routing goes on before the ids routed before are loaded: duplicates may pass')
    }, waitMs)
    await recall(gained, mine, bounds)
    clearTimeout(limit)
    if (!isWanted()) return
    if (!mine.mayRoute) onLoad('loaded')
    mine.mayRoute = true
    const ms = Math.round(performance.now() - from)
    log.debug({ partition, ids: mine.window.size(), ms }, 'ids routed before are loaded')
  }

  return {
    of(partition) {
      const mine = kept.get(partition)
      return mine?.mayRoute ? mine : undefined
    },
    watch: {
      gained(partitions) {
        // read after the group has been joined: what the partitions' last owners have committed lies before
        const bounds = reader.bounds()
        for (const each of partitions) void loaded(each, remember(each.partition), bounds)
      },
      lost: ({ partition }) => void kept.delete(partition),
    },
    size() {
      const windows = [...kept.values()].map(({ window }) => window)
      const sum = (of: (window: Window) => number) => windows.reduce((total, window) => total + of(window), 0)
      return { ids: sum((window) => window.size()), bytes: sum((window) => window.bytes()) }
    },
    forget: () => kept.clear(),
  }
}

const unwritten: SeenWriter = { write: () => async () => 'unwritten' }

/** In records: bounds what is read in vain. */
const MAX_STEP = 32_768

export type LoadOptions = {
  /** The partition's first offset in `router.seen`, and the one behind its last. */
  low: number
  high: number
  /** Reads from one offset to before another, in order. */
  read(from: number, to: number, onValue: (value: Buffer | null, offset: number) => void): Promise<void>
  /** Asked before each step: false ends it. */
  isWanted(): boolean
  window: Pick<Window, 'recall' | 'room'>
  windowMs: number
  /** Milliseconds of the epoch. */
  now: number
  /** Ids of events at this offset of `events` or behind are not recalled: Kafka has lost these, and they may be sent again. */
  lostFrom?: number | undefined
  onUnreadable(offset: number): void
}

/**
 * Recalls what was routed within the window before the newest event that was routed; times to come do not count as newest,
 * as one wrong clock would make all others too old. From the end backwards in steps: what a client sends again it sends
 * soon, and of more than fits the newest counts.
 */
export async function load(options: LoadOptions): Promise<void> {
  const { low, high, read, isWanted, window, windowMs, now, onUnreadable } = options
  const { lostFrom = Number.POSITIVE_INFINITY } = options
  let newest = Number.NEGATIVE_INFINITY
  // the last record alone says what is too old
  for (let to = high, step = 1; to > low && window.room() > 0 && isWanted(); ) {
    const from = Math.max(low, to - step)
    let latest = Number.NEGATIVE_INFINITY
    let entries = 0
    await read(from, to, (value, offset) => {
      const unpacked = unpack(value)
      if (!unpacked) return onUnreadable(offset)
      for (const { time } of unpacked) if (time <= now) latest = Math.max(latest, time)
      newest = Math.max(newest, latest)
      for (const entry of unpacked)
        if (entry.time >= newest - windowMs && entry.offset < lostFrom) window.recall(entry)
      entries += unpacked.length
    })
    const isPast = latest > Number.NEGATIVE_INFINITY && latest < newest - windowMs
    if (isPast) break
    step = nextStep({ step, entries, room: window.room() })
    to = from
  }
}

/**
 * How many records to read next: ever more, and as many as there is room for by what the last ones held. A guess: when the
 * older ones hold more, the newer of them do not fit any more.
 */
function nextStep({ step, entries, room }: { step: number; entries: number; room: number }): number {
  const fitting = Math.ceil((room * step) / Math.max(1, entries))
  return Math.max(1, Math.min(step * 8, MAX_STEP, fitting))
}
