/**
 * Upstream: no issue; in src/consumer/consumerGroup.js, `maxWaitTime` and `minBytes` never change, each fetch follows
 * the last at once, and a member with all partitions paused looks for work every `maxWaitTime`.
 * Without it: paused partitions resume late, idle consumers look or fetch dozens of times a second, a stop waits for
 * the broker's answer, and at a low rate each record costs a fetch.
 * Until: a consumer can choose when each fetch starts and how long it waits; test/kafka/fetch-wait.test.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { prototypeOf } from './internals.ts'

/**
 * The broker answers a fetch when it has `minBytes`, or after `maxWaitTime` ms. `paceMs`: how long records collect
 * after a fetch of few records.
 */
export type FetchWait = { maxWaitTime: number; minBytes: number; paceMs: number }

type Batch = { messages: readonly unknown[] }
type ConsumerGroup = Pick<FetchWait, 'maxWaitTime' | 'minBytes'> & {
  groupId: string
  paused(): unknown[]
  getActiveTopicPartitions(): Record<string, ReadonlySet<number>>
  resume(partitions: unknown): void
  fetch(nodeId: string): Promise<Batch[]>
}
type Runner = { consumerGroup: ConsumerGroup; stop(): Promise<void> }

/**
 * Of an idle consumer. Noticing a rebalance can take this long. Less than the second after which unanswered.ts doubts a
 * broker.
 */
export const IDLE_WAIT_MS = 800
/** Fewer records are few. Fetching one costs as much as fetching dozens. */
export const FEW = 50

type ChooseWait = (isPaused: boolean) => Partial<FetchWait>

const waits = new Map<string, ChooseWait>()

/**
 * Calls `choose` before each fetch of this process's members of a group. A paused partition resumes only after the
 * current fetch.
 * @returns a function that undoes it.
 */
export function setFetchWait(groupId: string, choose: ChooseWait): () => void {
  waits.set(groupId, choose)
  return () => {
    // another member may have replaced it
    if (waits.get(groupId) === choose) waits.delete(groupId)
  }
}

/** Waits for a partition to be resumed, and for an answer to a fetch. */
const waiting = new WeakMap<ConsumerGroup, { resumed: Set<() => void>; fetched: Set<() => void> }>()

function waitsOf(member: ConsumerGroup) {
  const waits = waiting.get(member) ?? { resumed: new Set(), fetched: new Set() }
  waiting.set(member, waits)
  return waits
}

const isAllPaused = (member: ConsumerGroup) =>
  member.paused().length > 0 &&
  Object.values(member.getActiveTopicPartitions()).every((partitions) => partitions.size === 0)

/** Also resolves when the member stops, and after {@link IDLE_WAIT_MS}. */
async function untilResumed(member: ConsumerGroup): Promise<void> {
  const { resumed } = waitsOf(member)
  const { promise, resolve } = Promise.withResolvers<void>()
  resumed.add(resolve)
  const limit = setTimeout(resolve, IDLE_WAIT_MS)
  await promise
  clearTimeout(limit)
  resumed.delete(resolve)
}

/** @returns no batches once the member stops: kafkajs drops what arrives afterwards. */
function unlessStopped(member: ConsumerGroup, fetching: Promise<Batch[]>): Promise<Batch[]> {
  const { fetched } = waitsOf(member)
  return new Promise((resolve, reject) => {
    const stop = () => resolve([])
    fetched.add(stop)
    fetching.then(resolve, reject).finally(() => fetched.delete(stop))
  })
}

function endWaits(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { resume } = member
  member.resume = function (partitions) {
    resume.call(this, partitions)
    for (const end of waitsOf(this).resumed) end()
  }
  const runner = prototypeOf<Runner>('consumer/runner')
  const { stop } = runner
  runner.stop = async function () {
    const { resumed, fetched } = waitsOf(this.consumerGroup)
    const stopped = stop.call(this)
    for (const end of [...resumed, ...fetched]) end()
    await stopped
  }
}

export function adjustFetchWaits(): void {
  endWaits()
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { fetch: fetchOnce } = member
  /** By broker, when it last answered with few records. */
  const answers = new WeakMap<ConsumerGroup, Map<string, number>>()

  member.fetch = async function (nodeId) {
    if (isAllPaused(this)) await untilResumed(this)
    const choose = waits.get(this.groupId)
    const fetch = () => unlessStopped(this, fetchOnce.call(this, nodeId))
    if (!choose) return fetch()
    const chosen = () => choose(this.paused().length > 0)
    const answered = answers.get(this) ?? new Map<string, number>()
    answers.set(this, answered)
    const { paceMs = 0 } = chosen()
    const left = (answered.get(nodeId) ?? Number.NEGATIVE_INFINITY) + paceMs - performance.now()
    if (left > 0) await sleep(left)
    // a partition may have been paused meanwhile
    const { paceMs: _, ...wait } = chosen()
    Object.assign(this, wait)
    const batches = await fetch()
    const records = batches.reduce((sum, { messages }) => sum + messages.length, 0)
    if (records > 0 && records < FEW) answered.set(nodeId, performance.now())
    else answered.delete(nodeId)
    return batches
  }
}
