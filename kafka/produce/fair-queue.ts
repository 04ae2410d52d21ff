/**
 * What waits to be sent. Items of one flow leave in their order. Flows take turns, and each may send as many bytes in
 * a turn as any other (deficit round robin: Shreedhar and Varghese, 1995).
 */
export type Turns<T, B> = {
  /** @param batch items that come together; `count` is at least 1. */
  add(flow: string, batch: B): void
  /** @returns what makes the next send: at least one item, unless nothing waits. */
  next(): T[]
  /** The batches of which at least one item has not left. */
  waiting(): B[]
  isEmpty(): boolean
  clear(): void
}

/** kafkajs needs long to put a larger request together. */
export const MAX_ITEMS = 500
/** Half of what a partition takes in one request. */
export const MAX_BYTES = 512 * 1024
/** What a flow may send in one turn. A flow that sends more, with one large item, waits for as many turns more. */
const TURN_BYTES = 16 * 1024
/** What an item costs besides its bytes, so that many small items count too. */
const ITEM_BYTES = 512

type Flow<T, B> = {
  name: string
  batches: B[]
  /** Place of the first batch that waits: taking it from the front of a long array would copy the array. */
  head: number
  /** Place of the next item in that batch. */
  place: number
  /** That item, once it is made. */
  item: T | undefined
  /** Bytes that it may still send in this turn. */
  credit: number
}

/** @param make makes an item of a batch when its turn comes; places count from 0. */
export function createTurns<T extends { bytes: number }, B extends { count: number }>(
  make: (batch: B, place: number) => T,
): Turns<T, B> {
  /** Whose turn it is comes first. None of them is empty. */
  const flows = new Map<string, Flow<T, B>>()

  /** The next item of the flow leaves. @returns whether that was its last one. */
  function leave(flow: Flow<T, B>): boolean {
    flow.item = undefined
    flow.place += 1
    if (flow.place < (flow.batches[flow.head] as B).count) return false
    flow.place = 0
    flow.head += 1
    if (flow.head === flow.batches.length) return true
    if (flow.head > 1_024 && flow.head * 2 > flow.batches.length) {
      flow.batches = flow.batches.slice(flow.head)
      flow.head = 0
    }
    return false
  }

  /** @returns the flow whose turn it is. */
  function atTurn(): Flow<T, B> | undefined {
    for (const [name, flow] of flows) {
      if (flow.credit > 0) return flow
      flow.credit += TURN_BYTES
      flows.delete(name)
      flows.set(name, flow) // is last now; this loop comes to it again
    }
    return undefined
  }

  return {
    add(name, batch) {
      const flow = flows.get(name)
      if (flow) flow.batches.push(batch)
      else flows.set(name, { name, batches: [batch], head: 0, place: 0, item: undefined, credit: TURN_BYTES })
    },
    next() {
      const items: T[] = []
      let bytes = 0
      for (let flow = atTurn(); flow; flow = atTurn()) {
        flow.item ??= make(flow.batches[flow.head] as B, flow.place)
        const { item } = flow
        bytes += item.bytes
        if (items.length === MAX_ITEMS || (items.length > 0 && bytes > MAX_BYTES)) return items
        items.push(item)
        flow.credit -= item.bytes + ITEM_BYTES
        if (leave(flow)) flows.delete(flow.name)
      }
      return items
    },
    waiting: () => [...flows.values()].flatMap(({ batches, head }) => batches.slice(head)),
    isEmpty: () => flows.size === 0,
    clear: () => flows.clear(),
  }
}
