const CAP_MS = 10_000
/** Nobody is waited for longer than that, whatever its Retry-After says. */
const RETRY_AFTER_CAP_MS = 300_000

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
