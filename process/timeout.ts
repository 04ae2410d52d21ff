/** @throws if `work` takes longer, or fails. */
export async function withTimeout<T>(work: Promise<T>, limitMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`timed out after ${limitMs} ms`)), limitMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits at most `limitMs`. Ignores failures. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  await withTimeout(work, limitMs).catch(() => undefined)
}
