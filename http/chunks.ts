export type Chunks = {
  size(): number
  add(chunk: Buffer): void
  /** Call it once: it gives up the bytes. */
  join(): Buffer
}

const GROWTH = 1.5

/** Joins chunks as they arrive: kept alone, one byte takes up to a kilobyte. */
export function createChunks(): Chunks {
  let bytes: Buffer = Buffer.alloc(0)
  let size = 0
  return {
    size: () => size,
    add(chunk) {
      // a view is copied, as it would keep a larger buffer in memory
      if (size === 0 && chunk.buffer.byteLength === chunk.length) bytes = chunk
      else {
        if (size + chunk.length > bytes.length) {
          const larger = Buffer.allocUnsafeSlow(Math.max(size + chunk.length, Math.ceil(size * GROWTH)))
          bytes.copy(larger, 0, 0, size)
          bytes = larger
        }
        chunk.copy(bytes, size)
      }
      size += chunk.length
    },
    join() {
      const whole = bytes.length === size ? bytes : bytes.subarray(0, size)
      bytes = Buffer.alloc(0)
      return whole
    },
  }
}

/**
 * A discarded body may have DISCARDED_CHUNKS, plus one per DISCARDED_CHUNK_BYTES: enough for a batch written call by
 * call.
 */
const DISCARDED_CHUNKS = 250
const DISCARDED_CHUNK_BYTES = 128

/**
 * The function counts a chunk of a discarded body. It returns true if there are too many for the body's size: Node takes
 * as long for each as for 2 KB.
 */
export function limitChunks(): (chunk: Buffer) => boolean {
  let allowed = DISCARDED_CHUNKS
  return (chunk) => {
    allowed += chunk.length / DISCARDED_CHUNK_BYTES - 1
    return allowed < 0
  }
}
