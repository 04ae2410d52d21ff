const MAX_WAIT_MS = 10_000
const MAX_RETRY_AFTER_MS = 300_000
/**
 * The limit for all attempts of a batch. The service drops duplicates for an hour by default (`DEDUP_WINDOW`), among
 * the last million calls of a partition. Later, it would forward a call twice.
 */
export const TRIED_FOR_MS = 45 * 60_000

/** `tries`: attempts so far, at least 1. `random`: 0 to 1. */
export type Tried = { tries: number; baseMs: number; random: number; retryAfterMs?: number | undefined }

/**
 * The wait before the next attempt, in ms: random up to a base that doubles with each attempt, at most 10 s, so that
 * clients do not return together. At least what the service asks for, up to 5 minutes.
 */
export function backoff({ tries, baseMs, random, retryAfterMs = 0 }: Tried): number {
  const most = Math.min(baseMs * 2 ** (tries - 1), MAX_WAIT_MS)
  return Math.max(Math.round(most * random), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
}

export type Next = { next: 'try'; waitMs: number } | { next: 'none'; since: 'tries' | 'time' }

/** @param facts `sinceFirstMs`: since the first attempt began */
export function nextTry(facts: Tried & { maxRetries: number; sinceFirstMs: number }): Next {
  if (facts.tries > facts.maxRetries) return { next: 'none', since: 'tries' }
  const waitMs = backoff(facts)
  if (facts.sinceFirstMs + waitMs > TRIED_FOR_MS) return { next: 'none', since: 'time' }
  return { next: 'try', waitMs }
}
