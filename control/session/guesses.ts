import { createNetworkLimit } from '../../http/networks.ts'
import type { RateLimit } from '../../ingest/call/rate.ts'

/** Wrong tokens, by the network that they come from. */
export type Guesses = {
  /** Counts one more. @returns whole seconds to wait, when too many have come from there of late. */
  wrong(ip: string): number | undefined
}

const LIMIT: RateLimit = { perSecond: 10 / 60, burst: 10 }

/** In memory, of one process. @param clock milliseconds, monotonic. */
export function createGuesses(clock: () => number): Guesses {
  const limit = createNetworkLimit(LIMIT, clock)
  return { wrong: (ip) => limit.draw(ip, 1) }
}
