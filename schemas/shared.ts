/** @returns `work` for any number of callers: one that calls while it runs gets the next run, which begins after its call. */
export function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  function start(): Promise<void> {
    running = work().finally(() => {
      running = undefined
    })
    return running
  }
  return () => {
    if (!running) return start()
    following ??= running.then(() => {
      following = undefined
      return start()
    })
    return following
  }
}
