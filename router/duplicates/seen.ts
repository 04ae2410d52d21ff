import type { Produced } from '../../kafka/produce/pending.ts'
import type { Producer } from '../../kafka/produce/produce.ts'
import { SEEN } from '../../schemas/topics.ts'
import type { Entry } from './window.ts'

/** So at most ten records a second and partition, unless there is enough to fill more. */
const FLUSH_MS = 100

/** Writes what one partition's window admits to the partition of the same number of `router.seen`. */
export type SeenWriter = {
  /**
   * @returns what waits for the acknowledgement; to be called once the event's deliveries have theirs, so that an outage of
   * Kafka does not count. Never rejects. What is not written two seconds later, or refused, is not waited for, nor is what
   * follows it, until one is written again: that costs a duplicate, not an event.
   */
  write(entry: Entry): () => Promise<Written>
}

/** `unknown`: at the end of the process. */
export type Written = 'acked' | 'unwritten' | 'unknown'

const WAIT_MS = 2_000

export type SeenWriterParts = {
  /** For topic `router.seen` alone: one that takes no writes stops what is sent with it. */
  producer: Pick<Producer, 'produce'>
  /** So many ids were not written in time. */
  onUnwritten: (ids: number) => void
}

type Batch = { entries: Entry[]; written: () => Promise<Written>; flush(): void }

export function seenWriter({ producer, onUnwritten }: SeenWriterParts, partition: number): SeenWriter {
  let open: Batch | undefined
  let isLate = false

  function begin(): Batch {
    const { promise, resolve } = Promise.withResolvers<Produced>()
    const entries: Entry[] = []
    let waiting: Promise<Written> | undefined
    async function wait(): Promise<Written> {
      const outcome = await withLimit(promise, isLate ? 0 : WAIT_MS)
      if (outcome === 'late') isLate = true
      if (outcome === 'acked' || outcome === 'unknown') return outcome
      onUnwritten(entries.length)
      return 'unwritten'
    }
    function written(): Promise<Written> {
      waiting ??= wait()
      return waiting
    }
    function flush(): void {
      open = undefined
      clearTimeout(timer)
      const record = { topic: SEEN, partition, key: String(partition), value: pack(entries) }
      void producer.produce([record]).then((outcome) => {
        if (outcome === 'acked') isLate = false
        resolve(outcome)
      })
    }
    const timer = setTimeout(flush, FLUSH_MS)
    return { entries, written, flush }
  }

  return {
    write(entry) {
      open ??= begin()
      const { entries, written, flush } = open
      if (entries.push(entry) === MAX_ENTRIES) flush()
      return written
    },
  }
}

async function withLimit<T>(work: Promise<T>, limitMs: number): Promise<T | 'late'> {
  const { promise, resolve } = Promise.withResolvers<'late'>()
  const limit = setTimeout(resolve, limitMs, 'late')
  const outcome = await Promise.race([work, promise])
  clearTimeout(limit)
  return outcome
}

/** More make a record of their own: few enough that under load no event waits long to be settled. */
export const MAX_ENTRIES = 64

const VERSION = 1
/** Version, and of each entry two numbers of at most 8 bytes and the hash. */
const MOST_BYTES = 1 + MAX_ENTRIES * 24

/**
 * A value of `router.seen`: a version byte, then of each entry the difference of its offset and of its time in milliseconds to
 * the entry's before it (the first's: to 0), and the 8 bytes of the hash; 10 to 12 bytes each.
 * Differences are signed varints as in Avro and protobuf. @param entries at most `MAX_ENTRIES`.
 */
export function pack(entries: readonly Entry[]): Buffer {
  const buffer = Buffer.allocUnsafe(MOST_BYTES)
  let at = buffer.writeUInt8(VERSION)
  let [offset, time] = [0, 0]
  for (const entry of entries) {
    at = writeSigned(buffer, at, entry.offset - offset)
    at = writeSigned(buffer, at, entry.time - time)
    at = buffer.writeUInt32BE(entry.high, at)
    at = buffer.writeUInt32BE(entry.low, at)
    offset = entry.offset
    time = entry.time
  }
  return Buffer.from(buffer.subarray(0, at))
}

/** @returns undefined for what is no such value. */
export function unpack(value: Buffer | null): Entry[] | undefined {
  if (value?.[0] !== VERSION) return undefined
  const entries: Entry[] = []
  const from: Cursor = { buffer: value, at: 1 }
  let [offset, time] = [0, 0]
  while (from.at < value.length) {
    offset += readSigned(from)
    time += readSigned(from)
    if (!Number.isSafeInteger(offset) || offset < 0 || from.at + 8 > value.length) return undefined
    entries.push({ high: value.readUInt32BE(from.at), low: value.readUInt32BE(from.at + 4), offset, time })
    from.at += 8
  }
  return entries
}

type Cursor = { buffer: Buffer; at: number }

/** Arithmetic in place of shifts: offsets and times are longer than 32 bits. @returns the index behind it. */
function writeSigned(buffer: Buffer, at: number, value: number): number {
  let left = value < 0 ? -2 * value - 1 : 2 * value
  let index = at
  for (; left >= 128; left = Math.floor(left / 128)) index = buffer.writeUInt8((left % 128) + 128, index)
  return buffer.writeUInt8(left, index)
}

/** NaN when the buffer ends within it. */
function readSigned(from: Cursor): number {
  let value = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = from.buffer[from.at++] ?? Number.NaN
    value += (byte % 128) * scale
    if (!(byte >= 128)) break
  }
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}
