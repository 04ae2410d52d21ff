/** First in, first out; taking costs the same however long it is. */
export type Fifo<T> = {
  push(item: T): void
  first(): T | undefined
  take(): T | undefined
  length(): number
}

export function createFifo<T>(): Fifo<T> {
  let items: T[] = []
  let head = 0

  return {
    push: (item) => void items.push(item),
    first: () => items[head],
    take() {
      if (head === items.length) return undefined
      const item = items[head]
      head += 1
      // what was taken is let go of now and then, not at each time
      if (head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return item
    },
    length: () => items.length - head,
  }
}
