export type BatcherOptions = { maxItems: number; lingerMs: number }

export type Batcher<T> = {
  add(item: T): void
  flush(): void
}

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
