import { createFifo, type Fifo } from '../../../process/fifo.ts'

/**
 * Items of one flow leave in order. Flows share the sends by bytes, so none delays the others (deficit round robin:
 * Shreedhar and Varghese, 1995).
 */
export type FairQueue<T, B> = {
  /** @param batch its `count` is at least 1. */
  add(flow: string, batch: B): void
  /** @returns the next send; empty only if nothing waits. */
  next(): T[]
  waiting(): B[]
  isEmpty(): boolean
  clear(): void
}

/** kafkajs takes long to assemble a larger request. */
export const MAX_ITEMS = 500
/** Half of what a partition accepts in one request. */
export const MAX_BYTES = 512 * 1024
/** For each flow and round. After a larger item, the flow skips rounds. */
const QUANTUM_BYTES = 16 * 1024
/** Added to each item's bytes, so that small items count too. */
const ITEM_BYTES = 512

type Flow<T, B> = {
  name: string
  batches: Fifo<B>
  /** Of the next item in the first batch. */
  place: number
  /** The next item, once made. */
  item: T | undefined
  /** In bytes. */
  credit: number
}

/** @param make makes an item just before it leaves. */
export function createFairQueue<T extends { bytes: number }, B extends { count: number }>(
  make: (batch: B, place: number) => T,
): FairQueue<T, B> {
  /** The next flow comes first. None of them is empty. */
  const flows = new Map<string, Flow<T, B>>()

  function nextFlow(): Flow<T, B> | undefined {
    for (const [name, flow] of flows) {
      if (flow.credit > 0) return flow
      flow.credit += QUANTUM_BYTES
      flows.delete(name)
      flows.set(name, flow) // now last, so this loop reaches it again
    }
    return undefined
  }

  return {
    add(name, batch) {
      const flow = flows.get(name) ?? newFlow(name)
      flow.batches.push(batch)
      flows.set(name, flow)
    },
    next() {
      const items: T[] = []
      let bytes = 0
      for (let flow = nextFlow(); flow; flow = nextFlow()) {
        flow.item ??= make(flow.batches.first() as B, flow.place)
        const { item } = flow
        bytes += item.bytes
        if (items.length === MAX_ITEMS || (items.length > 0 && bytes > MAX_BYTES)) return items
        items.push(item)
        flow.credit -= item.bytes + ITEM_BYTES
        if (removeNext(flow)) flows.delete(flow.name)
      }
      return items
    },
    waiting: () => [...flows.values()].flatMap(({ batches }) => batches.items()),
    isEmpty: () => flows.size === 0,
    clear: () => flows.clear(),
  }
}

const newFlow = <T, B>(name: string): Flow<T, B> => ({
  name,
  batches: createFifo(),
  place: 0,
  item: undefined,
  credit: QUANTUM_BYTES,
})

/** @returns whether the flow is empty now. */
function removeNext<T, B extends { count: number }>(flow: Flow<T, B>): boolean {
  flow.item = undefined
  flow.place += 1
  if (flow.place < (flow.batches.first() as B).count) return false
  flow.place = 0
  flow.batches.take()
  return flow.batches.length() === 0
}
