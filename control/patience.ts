const PATIENCE_MS = 10_000

/** Waits for something for as long as a client should have to. @throws when it takes longer, or itself fails. */
export async function patiently<T>(work: Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not within ${patienceMs} ms`)), patienceMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
