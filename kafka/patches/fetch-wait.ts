/**
 * Upstream: no issue; src/consumer/consumerGroup.js has one `maxWaitTime` and `minBytes` for the life of a consumer, and
 * fetches again at once.
 * Without it: paused partitions resume late, an idle consumer fetches dozens of times a second, and at a low rate each
 * record costs a fetch.
 * Until: a consumer can choose how long each fetch waits, and when the next one starts; test/kafka/fetch-wait.test.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { prototypeOf } from './internals.ts'

/**
 * The broker answers a fetch when it has `minBytes`, or after `maxWaitTime` ms. `paceMs`: a fetch of few records is
 * followed by the next one after this time, so that more records collect.
 */
export type FetchWait = { maxWaitTime: number; minBytes: number; paceMs: number }

type Batch = { messages: readonly unknown[] }
type ConsumerGroup = Pick<FetchWait, 'maxWaitTime' | 'minBytes'> & {
  groupId: string
  paused(): unknown[]
  fetch(nodeId: string): Promise<Batch[]>
}

/** The fetch wait of an idle consumer. Leaving the group and noticing a rebalance can take this long. */
export const IDLE_WAIT_MS = 500
/** Fewer records are few. A fetch of one record costs as much as a fetch of dozens. */
export const FEW = 50

type ChooseWait = (isPaused: boolean) => Partial<FetchWait>

const waits = new Map<string, ChooseWait>()

/**
 * Calls `choose` before each fetch of this process's members of a group.
 * @param choose gets whether a partition is paused. A paused partition can be fetched only after the current fetch,
 * which leaves it out, was answered.
 * @returns a function that undoes it.
 */
export function setFetchWait(groupId: string, choose: ChooseWait): () => void {
  waits.set(groupId, choose)
  return () => {
    // another member in this process may have replaced it
    if (waits.get(groupId) === choose) waits.delete(groupId)
  }
}

export function adjustFetchWaits(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { fetch } = member
  /** By broker, when it last answered with few records. */
  const answers = new WeakMap<ConsumerGroup, Map<string, number>>()

  member.fetch = async function (nodeId) {
    const choose = waits.get(this.groupId)
    if (!choose) return fetch.call(this, nodeId)
    const chosen = () => choose(this.paused().length > 0)
    const answered = answers.get(this) ?? new Map<string, number>()
    answers.set(this, answered)
    const { paceMs = 0 } = chosen()
    const left = (answered.get(nodeId) ?? Number.NEGATIVE_INFINITY) + paceMs - performance.now()
    if (left > 0) await sleep(left)
    // a partition may have been paused meanwhile
    const { paceMs: _, ...wait } = chosen()
    Object.assign(this, wait)
    const batches = await fetch.call(this, nodeId)
    const records = batches.reduce((sum, { messages }) => sum + messages.length, 0)
    if (records > 0 && records < FEW) answered.set(nodeId, performance.now())
    else answered.delete(nodeId)
    return batches
  }
}
