/** First in, first out, in constant time. */
export type Fifo<T> = {
  push(item: T): void
  first(): T | undefined
  take(): T | undefined
  length(): number
  items(): T[]
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
      // copies the array now and then, not for each item
      if (head * 2 > items.length) {
        items = items.slice(head)
        head = 0
      }
      return item
    },
    length: () => items.length - head,
    items: () => items.slice(head),
  }
}
