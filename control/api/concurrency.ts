/** Runs at most so many at a time; the others wait in order. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

export function createSemaphore(atOnce: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = atOnce
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

/** Runs at most so many at a time. @returns undefined for more. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T> | undefined

export function createLimit(atOnce: number): Limit {
  let running = 0

  async function run<T>(work: () => Promise<T>): Promise<T> {
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
    }
  }

  return (work) => (running < atOnce ? run(work) : undefined)
}

/** How long a client should wait for an answer. */
export const CLIENT_WAIT_MS = 10_000
