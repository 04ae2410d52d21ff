export type Gathered<T> = {
  add(item: T): void
  /** Hands over what is there now. */
  flush(): void
}

export type GatherOptions = { mostItems: number; lingerMs: number }

/** Hands items over many at a time: when so many are there, or the first of them has waited for so long. */
export function gather<T>(
  { mostItems, lingerMs }: GatherOptions,
  handOver: (items: readonly T[]) => void,
): Gathered<T> {
  let items: T[] = []
  let flushing: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(flushing)
    flushing = undefined
    const gathered = items
    items = []
    if (gathered.length > 0) handOver(gathered)
  }

  return {
    flush,
    add(item) {
      items.push(item)
      if (items.length >= mostItems) flush()
      else flushing ??= setTimeout(flush, lingerMs)
    },
  }
}
