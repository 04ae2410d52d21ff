const listeners = new Set<() => void>()
let at = Date.now()
let ticking: ReturnType<typeof setInterval> | undefined

function tick(): void {
  at = Date.now()
  for (const listener of listeners) listener()
}

/** One timer a second for all that goes on by itself, while there is any. */
export const clock = {
  /** ms since 1970 */
  now: () => at,
  subscribe(listener: () => void): () => void {
    if (listeners.size === 0) {
      at = Date.now()
      ticking = setInterval(tick, 1_000)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) clearInterval(ticking)
    }
  },
}
