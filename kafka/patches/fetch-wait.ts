import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** As far as it matters here (kafkajs 2.2.4, src/consumer/consumerGroup.js): `maxWaitTime` in ms. */
type Member = FetchWait & {
  groupId: string
  paused(): unknown[]
  fetch(nodeId: string): Promise<unknown>
}

/** A fetch is answered when there are `minBytes`, or after `maxWaitTime` ms. */
export type FetchWait = { maxWaitTime: number; minBytes: number }

/**
 * Of a consumer that has nothing to read, in ms. What comes ends it; so long it takes to leave its group, and to notice beyond its heartbeat's
 * time that the group joins anew.
 */
export const IDLE_WAIT_MS = 250

/** By group: asked before each fetch of its member in this process. */
const waits = new Map<string, (isPaused: boolean) => Partial<FetchWait>>()

/**
 * Has each fetch of this group's member wait as it is told then: kafkajs has one wait for the whole life of a consumer.
 * @param wanted is told whether a partition is paused: it can only be fetched again when the fetch that leaves it out has been answered.
 * @returns what ends it.
 */
export function fetchesWait(groupId: string, wanted: (isPaused: boolean) => Partial<FetchWait>): () => void {
  waits.set(groupId, wanted)
  return () => {
    // another of its members in this process may have come meanwhile
    if (waits.get(groupId) === wanted) waits.delete(groupId)
  }
}

/** For all consumers in this process. */
export function adaptFetchWaits(): void {
  const { prototype: member }: { prototype: Member } = require('kafkajs/src/consumer/consumerGroup')
  const { fetch } = member
  member.fetch = function (nodeId) {
    const wanted = waits.get(this.groupId)
    if (wanted) Object.assign(this, wanted(this.paused().length > 0))
    return fetch.call(this, nodeId)
  }
}
