import { createBatcher } from '../../kafka/produce/batcher.ts'
import type { Produced, Producer } from '../../kafka/produce/produce.ts'
import { withTimeout } from '../../process/timeout.ts'
import { SEEN } from '../../schemas/topics.ts'
import type { Entry } from './window.ts'

/** Writes the ids of a partition to the same partition of `router.seen`. */
export type SeenWriter = {
  /**
   * @returns a function that waits for the acknowledgement and never rejects. Call it once the event's deliveries are
   * acknowledged, so that an outage does not count. After two seconds without one, later calls do not wait until Kafka
   * accepts a record again: duplicates may pass.
   */
  write(entry: Entry): () => Promise<Written>
}

/** `unknown`: the process is ending. */
export type Written = 'acked' | 'unwritten' | 'unknown'

const WAIT_MS = 2_000

export type SeenWriterParts = {
  /** Only for `router.seen`: a topic that accepts no writes blocks its producer. */
  producer: Pick<Producer, 'produce'>
  onUnwritten: (ids: number) => void
}

type Open = { ids: number; end: (outcome: Produced) => void; written: () => Promise<Written> }

export function seenWriter({ producer, onUnwritten }: SeenWriterParts, partition: number): SeenWriter {
  let open: Open | undefined
  let isLate = false
  const batcher = createBatcher<Entry>(BATCH, (entries) => {
    const batch = open
    open = undefined
    const record = { topic: SEEN, partition, key: String(partition), value: pack(entries) }
    void producer.produce([record]).then((outcome) => {
      if (outcome === 'acked') isLate = false
      batch?.end(outcome)
    })
  })

  function begin(): Open {
    const { promise, resolve } = Promise.withResolvers<Produced>()
    let waiting: Promise<Written> | undefined
    async function wait(): Promise<Written> {
      const outcome = await withTimeout(promise, isLate ? 0 : WAIT_MS).catch(() => 'late' as const)
      if (outcome === 'late') isLate = true
      if (outcome === 'acked' || outcome === 'unknown') return outcome
      onUnwritten(batch.ids)
      return 'unwritten'
    }
    const batch: Open = {
      ids: 0,
      end: resolve,
      written() {
        waiting ??= wait()
        return waiting
      },
    }
    return batch
  }

  return {
    write(entry) {
      open ??= begin()
      const batch = open
      batch.ids += 1
      batcher.add(entry)
      return batch.written
    },
  }
}

/** Few enough that no event waits long to be settled. */
export const MAX_ENTRIES = 64
/** At most ten records a second and partition, or more if full. */
const BATCH = { maxItems: MAX_ENTRIES, lingerMs: 100 }

const VERSION = 1
/** For each entry two numbers and the hash, of at most 8 bytes each. */
const MAX_BYTES = 1 + MAX_ENTRIES * 24

/**
 * A version byte, then for each entry the differences of offset and time in ms to the previous one (first: to 0) as
 * signed varints, as in Avro and protobuf, and 8 bytes of hash: 10 to 12 bytes.
 * @param entries at most `MAX_ENTRIES`.
 */
export function pack(entries: readonly Entry[]): Buffer {
  const buffer = Buffer.allocUnsafe(MAX_BYTES)
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

/** Arithmetic instead of shifts, as offsets and times exceed 32 bits. @returns the index after it. */
function writeSigned(buffer: Buffer, at: number, value: number): number {
  let left = value < 0 ? -2 * value - 1 : 2 * value
  let index = at
  for (; left >= 128; left = Math.floor(left / 128)) index = buffer.writeUInt8((left % 128) + 128, index)
  return buffer.writeUInt8(left, index)
}

function readSigned(from: Cursor): number {
  let value = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = from.buffer[from.at++] ?? Number.NaN
    value += (byte % 128) * scale
    if (!(byte >= 128)) break
  }
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}
