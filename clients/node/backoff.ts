const CAP_MS = 10_000
/** Nobody is waited for longer than that, whatever its Retry-After says. */
const RETRY_AFTER_CAP_MS = 300_000
/**
 * No try of a batch goes on for longer than that after the start of its first: the service drops a call that comes twice within an hour
 * (its `DEDUP_WINDOW`, by default), and past it would forward the call a second time. It also does so past a million calls of a
 * partition, if these come sooner.
 */
export const TRIED_FOR_MS = 45 * 60_000

/** `tries` made so far, from 1; `random` from 0 to 1; `retryAfterMs`: what the service asked for. */
export type Tried = { tries: number; baseMs: number; random: number; retryAfterMs?: number | undefined }

/**
 * How long to wait before the next try, in ms: anything up to the base, doubled with each try up to 10 s, so that many clients do
 * not come back at once; and at least as long as the service asks for, up to 5 minutes.
 */
export function backoff({ tries, baseMs, random, retryAfterMs = 0 }: Tried): number {
  const most = Math.min(baseMs * 2 ** (tries - 1), CAP_MS)
  return Math.max(Math.round(most * random), Math.min(retryAfterMs, RETRY_AFTER_CAP_MS))
}

/** What follows a try that was in vain: another one, or none as there were enough, or as it would come too late. */
export type Next = { next: 'try'; waitMs: number } | { next: 'none'; since: 'tries' | 'time' }

/** @param facts `sinceFirstMs`: since the first try began. */
export function nextTry(facts: Tried & { maxRetries: number; sinceFirstMs: number }): Next {
  if (facts.tries > facts.maxRetries) return { next: 'none', since: 'tries' }
  const waitMs = backoff(facts)
  if (facts.sinceFirstMs + waitMs > TRIED_FOR_MS) return { next: 'none', since: 'time' }
  return { next: 'try', waitMs }
}
