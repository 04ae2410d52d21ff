import { LIBRARY } from './library.ts'
import { BATCH_BYTES, BATCH_CALLS } from './limits.ts'

const HEAD = '{"batch":['
const tail = (sentAt: string) => `],"sentAt":"${sentAt}","context":${JSON.stringify({ library: LIBRARY })}}`

/** Bytes of a body without its calls and commas. */
const FRAME_BYTES = Buffer.byteLength(HEAD + tail(new Date(0).toISOString()))

/** How many calls from the index `from` make the next batch: as many as the service accepts, or one if batching is off. */
export function batchSize(
  calls: readonly { bytes: number }[],
  { flushAt, from = 0 }: { flushAt: number; from?: number },
): number {
  const most = flushAt === 1 ? 1 : BATCH_CALLS
  let bytes = FRAME_BYTES
  let count = 0
  for (let call = calls[from]; call && count < most; call = calls[from + count]) {
    bytes += call.bytes + (count === 0 ? 0 : 1)
    if (bytes > BATCH_BYTES) break
    count += 1
  }
  return count
}

/** The body of a request. @param sentAt ISO 8601, UTC, milliseconds; the service uses it to correct the calls' times */
export function bodyOf(calls: readonly { json: string }[], sentAt: string): string {
  return HEAD + calls.map(({ json }) => json).join(',') + tail(sentAt)
}
