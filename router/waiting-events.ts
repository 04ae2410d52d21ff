import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerRecord, Message } from '../kafka/consume/record.ts'
import { createFifo, type Fifo } from '../process/fifo.ts'
import type { Slices } from '../process/slices.ts'
import type { Event } from '../schemas/event.ts'

/** For each partition, as encoded in `events`: about two fetches. */
const MAX_BYTES = 256 * 1024
const CHECK_MS = 50

/**
 * While an event's rules take more than a slice, later events of its source and partition wait here, to keep their
 * order.
 */
export type WaitingEvents = {
  /** @returns `full`: the event must wait, but there is no room. */
  add(record: ConsumerRecord<Event>, message: Message): 'no' | 'waits' | 'full'
  /** @param routing ends when the rules have run. It never rejects. */
  follow(record: ConsumerRecord<Event>, routing: Promise<void>): void
}

type Waiting = { record: ConsumerRecord<Event>; message: Message; bytes: number }

type Parts = {
  slices: Slices
  isReady: (record: ConsumerRecord<Event>) => boolean
  /** May throw, but the promise never rejects. */
  route: (record: ConsumerRecord<Event>, message: Message) => Promise<void> | undefined
}

export function createWaitingEvents({ slices, isReady, route }: Parts): WaitingEvents {
  const queues = new Map<string, Fifo<Waiting>>()
  const waitingBytes = countBytes()

  async function routeNext({ record, message, bytes }: Waiting): Promise<void> {
    for (;;) {
      if (slices.isSpent()) await slices.next()
      if (!record.owned() || isReady(record)) break
      await sleep(CHECK_MS)
    }
    waitingBytes.add(record, -bytes)
    if (!record.owned()) {
      record.release()
      return
    }
    try {
      await route(record, message)
    } catch (error) {
      record.park(message, String(error))
    }
  }

  async function follow(key: string, queue: Fifo<Waiting>, routing: Promise<void>): Promise<void> {
    await routing
    for (let next = queue.take(); next; next = queue.take()) await routeNext(next)
    queues.delete(key)
  }

  return {
    add(record, message) {
      // without costly rules nothing waits
      const queue = queues.size === 0 ? undefined : queues.get(keyOf(record))
      if (!queue) return 'no'
      if (waitingBytes.of(record) >= MAX_BYTES) return 'full'
      const bytes = message.value?.length ?? 0
      waitingBytes.add(record, bytes)
      queue.push({ record, message, bytes })
      return 'waits'
    },
    follow(record, routing) {
      const key = keyOf(record)
      const queue = createFifo<Waiting>()
      queues.set(key, queue)
      void follow(key, queue, routing)
    },
  }
}

/** By partition. */
function countBytes() {
  const bytesIn = new Map<number, number>()
  const of = ({ partition }: ConsumerRecord<Event>) => bytesIn.get(partition) ?? 0
  return {
    of,
    add(record: ConsumerRecord<Event>, bytes: number): void {
      const sum = of(record) + bytes
      if (sum === 0) bytesIn.delete(record.partition)
      else bytesIn.set(record.partition, sum)
    },
  }
}

const keyOf = ({ partition, value }: ConsumerRecord<Event>) => `${partition}/${value.sourceId}`
