import { promisify } from 'node:util'
import { unzip, zstdDecompress } from 'node:zlib'
import { lz4Decompress, snappyDecompress } from './decompress.ts'

/**
 * A batch may have so many bytes when decompressed. A batch has at most 1 MB before compression with Kafka's defaults
 * (`max.request.size` of producers), and Sluice's own have 512 KB. Without a bound 1 MB of zstd could take all memory.
 */
export const MOST_BYTES = 16 * 1024 * 1024

type Codec = { name: string; decompress(bytes: Buffer): Buffer | Promise<Buffer> }

const bounded = { maxOutputLength: MOST_BYTES }
const gunzip = promisify<Buffer, typeof bounded, Buffer>(unzip)
const unzstd = promisify<Buffer, typeof bounded, Buffer>(zstdDecompress)

/** By the number that a batch names. Producers, and a topic's `compression.type`, may use any of them. */
const CODECS: Readonly<Record<number, Codec>> = {
  1: { name: 'gzip', decompress: (bytes) => gunzip(bytes, bounded) },
  2: { name: 'Snappy', decompress: (bytes) => snappyDecompress(bytes, MOST_BYTES) },
  3: { name: 'LZ4', decompress: (bytes) => lz4Decompress(bytes, MOST_BYTES) },
  4: { name: 'zstd', decompress: (bytes) => unzstd(bytes, bounded) },
}

/** @throws for an unknown codec, for damaged bytes, and for more than `MOST_BYTES`. */
export async function decompress(bytes: Buffer, number: number): Promise<Buffer> {
  const codec = CODECS[number]
  if (!codec) throw new RangeError(`it is compressed with codec ${number}, which is not known`)
  try {
    return await codec.decompress(bytes)
  } catch (error) {
    throw new RangeError(`${codec.name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
