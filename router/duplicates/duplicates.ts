import type { FailureLog } from '../../kafka/admin/failures.ts'
import type { PartitionWatch } from '../../kafka/consume/assignment.ts'
import type { Reader } from '../../kafka/tables/reader.ts'
import type { Logger } from '../../process/log.ts'
import { SEEN } from '../../schemas/topics.ts'
import { type SeenWriter, type SeenWriterParts, seenWriter, unpack } from './seen-topic.ts'
import { createWindow, type Window } from './window.ts'

export type PartitionWindow = Pick<Window, 'admit'> & SeenWriter

export type Duplicates = {
  /** @returns undefined while the window is loaded: the partition waits. */
  of(partition: number): PartitionWindow | undefined
  watch: PartitionWatch
  size(): { ids: number; bytes: number }
  forget(): void
}

export type DuplicatesOptions = SeenWriterParts & {
  reader: Pick<Reader, 'partitions' | 'bounds' | 'read'>
  windowMs: number
  /** `late`: not loaded within the time that routing waits. */
  onLoad: (outcome: 'loaded' | 'late') => void
  waitMs?: number
  log: Logger
  failures: Pick<FailureLog, 'add'>
}

/** Waiting longer would do more harm than the duplicates that may pass. */
const WAIT_MS = 2_000
const RETRY_MS = 250

type Gained = Parameters<PartitionWatch['gained']>[0][number]
type Bounds = ReturnType<Reader['bounds']>
type Owned = PartitionWindow & { window: Window; mayRoute: boolean }

/** Windows of this process's partitions, kept in `router.seen` (docs/understand/guarantees.md, "Duplicates"). */
export function createDuplicates(options: DuplicatesOptions): Duplicates {
  const { reader, onLoad, log, waitMs = WAIT_MS } = options
  const owned = new Map<number, Owned>()

  async function open(gained: Gained, bounds: Bounds): Promise<void> {
    const { partition } = gained
    const opened = createPartitionWindow(options, partition)
    owned.set(partition, opened)
    const from = performance.now()
    const isOwned = () => owned.get(partition) === opened
    const limit = setTimeout(() => {
      if (!isOwned()) return
      opened.mayRoute = true
      onLoad('late')
      log.warn({ partition }, 'routing starts before earlier ids are loaded: duplicates may pass')
    }, waitMs)
    await loadUntilDone(gained, { ...options, window: opened.window, bounds, isOwned })
    clearTimeout(limit)
    if (!isOwned()) return
    if (!opened.mayRoute) onLoad('loaded')
    opened.mayRoute = true
    const ms = Math.round(performance.now() - from)
    log.debug({ partition, ids: opened.window.size(), ms }, 'earlier ids are loaded')
  }

  return {
    of(partition) {
      const found = owned.get(partition)
      return found?.mayRoute ? found : undefined
    },
    watch: {
      gained(partitions) {
        // read after joining the group: commits of earlier owners lie before these bounds
        const bounds = reader.bounds()
        for (const each of partitions) void open(each, bounds)
      },
      lost: ({ partition }) => void owned.delete(partition),
    },
    size() {
      const windows = [...owned.values()].map(({ window }) => window)
      const sum = (of: (window: Window) => number) => windows.reduce((total, window) => total + of(window), 0)
      return { ids: sum((window) => window.size()), bytes: sum((window) => window.bytes()) }
    },
    forget: () => owned.clear(),
  }
}

function createPartitionWindow(options: DuplicatesOptions, partition: number): Owned {
  const { reader, windowMs, log } = options
  const window = createWindow({ windowMs })
  const isWritable = partition < reader.partitions
  if (!isWritable)
    log.error(
      { partition },
      `${SEEN} has too few partitions: duplicates pass after a restart. Add partitions and restart`,
    )
  const { write } = isWritable ? seenWriter(options, partition) : unwritten
  return { window, admit: window.admit, write, mayRoute: false }
}

const unwritten: SeenWriter = { write: () => async () => 'unwritten' }

type Loading = DuplicatesOptions & { window: Window; bounds: Bounds; isOwned: () => boolean }

async function loadUntilDone({ partition, lostFrom }: Gained, loading: Loading): Promise<void> {
  const { reader, window, windowMs, log, failures, isOwned } = loading
  const read: LoadOptions['read'] = (from, to, onValue) =>
    reader.read({ partition, from, to }, (value, offset) => {
      onValue(value, offset)
      return undefined
    })
  const onUnreadable = (offset: number) =>
    log.warn({ topic: SEEN, partition, offset }, 'a record of ids cannot be read: it is skipped')
  let bounds = () => loading.bounds
  while (isOwned()) {
    try {
      const { low, high } = (await bounds()).get(partition) ?? { low: 0, high: 0 }
      const parts = { read, isOwned, window, windowMs, onUnreadable }
      return await load({ ...parts, low, high, lostFrom, now: Date.now() })
    } catch (err) {
      const text = 'earlier ids cannot be loaded yet'
      if (isOwned()) failures.add({ kind: SEEN, text, err, fields: { partition } })
      bounds = reader.bounds
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** In records. */
const MAX_STEP = 32_768

export type LoadOptions = {
  /** The partition's first offset in `router.seen`, and the one after its last. */
  low: number
  high: number
  /** Reads a range in order, without `to`. */
  read(from: number, to: number, onValue: (value: Buffer | null, offset: number) => void): Promise<void>
  isOwned(): boolean
  window: Pick<Window, 'recall' | 'room'>
  windowMs: number
  /** Milliseconds since 1970. */
  now: number
  /** Kafka has lost `events` from this offset on. Clients may send them again, so their ids are not recalled. */
  lostFrom?: number | undefined
  onUnreadable(offset: number): void
}

/**
 * Recalls ids routed within the window before the newest one. Ignores future times: one wrong clock would make all
 * others too old. Reads backwards, as the newest matter most.
 */
export async function load(options: LoadOptions): Promise<void> {
  const { low, high, read, isOwned, window, windowMs, now, onUnreadable } = options
  const { lostFrom = Number.POSITIVE_INFINITY } = options
  let newest = Number.NEGATIVE_INFINITY
  // the last record alone shows which ids are too old
  for (let to = high, step = 1; to > low && window.room() > 0 && isOwned(); ) {
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

/** @returns how many records to read: more each time, but only as many as fit, judging by the last ones. */
function nextStep({ step, entries, room }: { step: number; entries: number; room: number }): number {
  const fitting = Math.ceil((room * step) / Math.max(1, entries))
  return Math.max(1, Math.min(step * 8, MAX_STEP, fitting))
}
