import type { IncomingMessage } from 'node:http'
import { FIELD_BYTES, REQUEST_BYTES } from '../limits.ts'

/** What one request holds of the sum, until it is disposed of. */
export type Lease = Disposable & {
  /** @returns false, and takes nothing, when the sum would go over its bound. */
  add(bytes: number): boolean
}

export type Hold = { open(): Lease; bytes(): number }

/** Bounds the sum of bytes that all requests hold at once: many large bodies that come slowly must not fill the memory. */
export function createHold(bound: number): Hold {
  let held = 0
  return {
    bytes: () => held,
    open() {
      let own = 0
      return {
        add(bytes) {
          if (held + bytes > bound) return false
          held += bytes
          own += bytes
          return true
        },
        [Symbol.dispose]() {
          held -= own
          own = 0
        },
      }
    },
  }
}

/** What a request takes until its answer, besides its body. */
export function requestBytes({ url = '', rawHeaders }: Pick<IncomingMessage, 'url' | 'rawHeaders'>): number {
  let bytes = REQUEST_BYTES + url.length
  for (const text of rawHeaders) bytes += text.length + FIELD_BYTES // names and values in turn
  return bytes
}
