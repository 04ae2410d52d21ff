import type { Entry } from './window.ts'

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
