import { LIBRARY } from './library.ts'
import { BATCH_BYTES, BATCH_CALLS } from './limits.ts'

const HEAD = '{"batch":['
const tail = (sentAt: string) => `],"sentAt":"${sentAt}","context":${JSON.stringify({ library: LIBRARY })}}`

/** Of a body without calls and commas. */
const FRAME_BYTES = Buffer.byteLength(HEAD + tail(new Date(0).toISOString()))

/** How many calls from `from` the service accepts in a batch; one if batching is off. */
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

/** @param sentAt ISO 8601, UTC, milliseconds */
export function bodyOf(calls: readonly { json: string }[], sentAt: string): string {
  return HEAD + calls.map(({ json }) => json).join(',') + tail(sentAt)
}
