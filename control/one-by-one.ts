/** @returns what runs each work when the one before it has ended, however that ended. */
export function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const running = last.then(work)
    last = running.catch(() => undefined)
    return running
  }
}
