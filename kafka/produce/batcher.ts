export type BatcherOptions = { maxItems: number; lingerMs: number }

export type Batcher<T> = {
  add(item: T): void
  /** Hands over what is there now. */
  flush(): void
}

/** Hands items over in batches: when there are `maxItems`, or when the first has waited for `lingerMs`. */
export function createBatcher<T>(
  { maxItems, lingerMs }: BatcherOptions,
  handOver: (items: readonly T[]) => void,
): Batcher<T> {
  let items: T[] = []
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const batch = items
    items = []
    if (batch.length > 0) handOver(batch)
  }

  return {
    flush,
    add(item) {
      items.push(item)
      if (items.length >= maxItems) flush()
      else timer ??= setTimeout(flush, lingerMs)
    },
  }
}
