/**
 * Upstream: no issue; src/consumer/consumerGroup.js has one `maxWaitTime` and `minBytes` for the life of a consumer.
 * Without it: paused partitions resume late, or an idle consumer fetches dozens of times a second.
 * Until: a consumer can choose how long each fetch waits; test/kafka/fetch-wait.test.ts.
 */
import { prototypeOf } from './internals.ts'

/** The broker answers a fetch when it has `minBytes`, or after `maxWaitTime` ms. */
export type FetchWait = { maxWaitTime: number; minBytes: number }

type ConsumerGroup = FetchWait & {
  groupId: string
  paused(): unknown[]
  fetch(nodeId: string): Promise<unknown>
}

/** The fetch wait of an idle consumer. Leaving the group and noticing a rebalance can take this long. */
export const IDLE_WAIT_MS = 500

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
  member.fetch = function (nodeId) {
    const choose = waits.get(this.groupId)
    if (choose) Object.assign(this, choose(this.paused().length > 0))
    return fetch.call(this, nodeId)
  }
}
