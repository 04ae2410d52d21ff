import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import { messageOf } from '../../process/thrown.ts'

/**
 * Without a limit, 1 MB of zstd could take all memory. Batches have at most 1 MB by Kafka's defaults
 * (`max.request.size`), from Sluice 512 KB.
 */
export const MAX_BYTES = 16 * 1024 * 1024

type Codec = { name: string; decompress(bytes: Buffer): Buffer | Promise<Buffer> }

const bounded = { maxOutputLength: MAX_BYTES }
const gunzip = promisify<Buffer, typeof bounded, Buffer>(unzip)
const unzstd = promisify<Buffer, typeof bounded, Buffer>(zstdDecompress)

/** By codec number. */
const CODECS: Readonly<Record<number, Codec>> = {
  1: { name: 'gzip', decompress: (bytes) => gunzip(bytes, bounded) },
  2: { name: 'Snappy', decompress: (bytes) => snappyDecompress(bytes, MAX_BYTES) },
  3: { name: 'LZ4', decompress: (bytes) => lz4Decompress(bytes, MAX_BYTES) },
  4: { name: 'zstd', decompress: (bytes) => unzstd(bytes, bounded) },
}

/** @throws RangeError for an unknown codec, damaged bytes, or more than `MAX_BYTES`. */
export async function decompress(bytes: Buffer, number: number): Promise<Buffer> {
  const codec = CODECS[number]
  if (!codec) throw new RangeError(`unknown compression codec ${number}`)
  try {
    return await codec.decompress(bytes)
  } catch (error) {
    throw new RangeError(`${codec.name}: ${messageOf(error)}`, { cause: error })
  }
}

// LZ4 and Snappy, which Node does not have

/** Copying fewer bytes one by one beats a function call. */
const FEW = 32

type Output = {
  literals(source: Buffer, start: number, count: number): void
  /** Appends `count` bytes from `distance` before the end. They may overlap. */
  repeat(distance: number, count: number): void
  done(): Buffer
}

/** @param size of the first buffer; it grows up to `max` bytes. */
function createOutput({ size, max }: { size: number; max: number }): Output {
  let bytes = Buffer.allocUnsafeSlow(Math.min(size, max))
  let length = 0

  function makeRoom(count: number): void {
    if (length + count <= bytes.length) return
    if (length + count > max) throw tooLong(max)
    const larger = Buffer.allocUnsafeSlow(Math.min(max, Math.max(length + count, bytes.length * 2)))
    bytes.copy(larger, 0, 0, length)
    bytes = larger
  }

  return {
    literals(source, start, count) {
      if (start + count > source.length) throw endsEarly()
      makeRoom(count)
      if (count > FEW) source.copy(bytes, length, start, start + count)
      else for (let index = 0; index < count; index++) bytes[length + index] = source[start + index] ?? 0
      length += count
    },
    repeat(distance, count) {
      if (distance < 1 || distance > length) throw new RangeError('it repeats bytes before its beginning')
      makeRoom(count)
      const from = length - distance
      if (count > FEW && count <= distance) bytes.copyWithin(length, from, from + count)
      else for (let index = 0; index < count; index++) bytes[length + index] = bytes[from + index] ?? 0
      length += count
    },
    // trim it: records are slices that keep the whole buffer in memory
    done: () =>
      length * 2 < bytes.length ? Buffer.from(bytes.subarray(0, length)) : bytes.subarray(0, length),
  }
}

const endsEarly = () => new RangeError('it ends early')
const tooLong = (max: number) => new RangeError(`it is longer than ${max} bytes`)

const LZ4_MAGIC = 0x184d2204
const STORED = 0x80000000

/**
 * Decodes one frame (LZ4 Frame Format 1.6). Ignores its checksums: the batch's covers the same bytes, and early Kafka
 * clients wrote wrong ones.
 * @throws like `decompress`, with limit `max`.
 */
export function lz4Decompress(frame: Buffer, max: number): Buffer {
  if (frame.length < 7 || frame.readUInt32LE(0) !== LZ4_MAGIC) throw new RangeError('not an LZ4 frame')
  const flags = frame.readUInt8(4)
  if (flags >> 6 !== 1) throw new RangeError(`LZ4 frame version ${flags >> 6} is not supported`)
  if (flags & 1) throw new RangeError('it needs a dictionary')
  const checksumBytes = flags & 0x10 ? 4 : 0
  const output = createOutput({ size: frame.length * 4, max })
  // after magic, flags, block size, content size if present, and header checksum
  for (let at = flags & 8 ? 15 : 7; ; ) {
    if (at + 4 > frame.length) throw endsEarly()
    const size = frame.readUInt32LE(at)
    if (size === 0) return output.done()
    const start = at + 4
    const end = start + (size & ~STORED)
    if (end > frame.length) throw endsEarly()
    if (size >= STORED) output.literals(frame, start, end - start)
    else lz4Block(frame.subarray(start, end), output)
    at = end + checksumBytes
  }
}

/** Literals, each but the last followed by a repetition (LZ4 Block Format). Linked blocks refer to earlier ones. */
function lz4Block(block: Buffer, output: Output): void {
  let at = 0
  /** After 15, bytes are added up to the first that is not 255. */
  function lengthOf(nibble: number): number {
    let length = nibble
    if (nibble < 15) return length
    for (;;) {
      const byte = block[at++]
      if (byte === undefined) throw endsEarly()
      length += byte
      if (byte < 255) return length
    }
  }
  while (at < block.length) {
    const token = block[at++] ?? 0
    const literals = lengthOf(token >> 4)
    output.literals(block, at, literals)
    at += literals
    if (at === block.length) return
    if (at + 2 > block.length) throw endsEarly()
    const distance = (block[at] ?? 0) | ((block[at + 1] ?? 0) << 8)
    at += 2
    output.repeat(distance, lengthOf(token & 15) + 4)
  }
}

/** `snappy-java`: magic, version, oldest compatible version. */
const XERIAL = Buffer.from('\x82SNAPPY\0', 'latin1')
const XERIAL_HEADER_BYTES = XERIAL.length + 8

/**
 * Decodes one block, or the framing of brokers and Java clients: a length before each block.
 * @throws like `decompress`, with limit `max`.
 */
export function snappyDecompress(bytes: Buffer, max: number): Buffer {
  if (!bytes.subarray(0, XERIAL.length).equals(XERIAL)) return snappyBlock(bytes, max)
  const blocks: Buffer[] = []
  let left = max
  for (let at = XERIAL_HEADER_BYTES; at < bytes.length; ) {
    const start = at + 4
    if (start > bytes.length) throw endsEarly()
    at = start + bytes.readUInt32BE(start - 4)
    if (at > bytes.length) throw endsEarly()
    const block = snappyBlock(bytes.subarray(start, at), left)
    blocks.push(block)
    left -= block.length
  }
  return Buffer.concat(blocks)
}

/** Length, literals and copies of earlier bytes (Snappy compressed format description). */
function snappyBlock(block: Buffer, max: number): Buffer {
  let at = 0
  function littleEndian(bytes: number): number {
    if (at + bytes > block.length) throw endsEarly()
    at += bytes
    return block.readUIntLE(at - bytes, bytes)
  }
  const length = lengthOfBlock()
  if (length > max) throw tooLong(max)
  const output = createOutput({ size: length, max: length })
  while (at < block.length) {
    const tag = block[at++] ?? 0
    const upper = tag >> 2
    if ((tag & 3) === 0) {
      const count = (upper < 60 ? upper : littleEndian(upper - 59)) + 1
      output.literals(block, at, count)
      at += count
    } else if ((tag & 3) === 1) output.repeat(((tag >> 5) << 8) | littleEndian(1), (upper & 7) + 4)
    else output.repeat(littleEndian((tag & 3) === 2 ? 2 : 4), upper + 1)
  }
  const whole = output.done()
  if (whole.length !== length) throw endsEarly()
  return whole

  /** Seven bits per byte, lowest first. */
  function lengthOfBlock(): number {
    let value = 0
    for (let place = 0; place < 5; place++) {
      const byte = littleEndian(1)
      value += (byte & 0x7f) * 2 ** (7 * place)
      if (byte < 0x80) return value
    }
    throw new RangeError('not a Snappy block')
  }
}
