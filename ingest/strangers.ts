import { createNetworkLimit } from '../http/networks.ts'
import { STRANGER_BYTES, STRANGER_LEAST_BYTES } from './limits.ts'

/**
 * Bounds what a network may cost with bodies in which no write key of a source is found: they have to be inflated and parsed to look for it.
 * Requests whose key is outside the body are none of them, and are never refused for it.
 */
export type Strangers = {
  /** @returns whole seconds until a body from there is worked on again, undefined when it is now. */
  wait(ip: string): number | undefined
  /** Nobody's body of so many bytes has been worked on. */
  refused(ip: string, bytes: number): void
}

/** @param clock milliseconds, monotonic. */
export function createStrangers(clock: () => number): Strangers {
  const limit = createNetworkLimit(STRANGER_BYTES, clock)
  return {
    wait: limit.wait,
    refused: (ip, bytes) => void limit.draw(ip, Math.max(bytes, STRANGER_LEAST_BYTES)),
  }
}
