/**
 * Upstream: no issue; in src/consumer/consumerGroup.js, `maxWaitTime` and `minBytes` never change, each fetch follows
 * the last at once, and a member with all partitions paused looks for work every `maxWaitTime`.
 * Without it: paused partitions resume late, idle consumers look or fetch dozens of times a second, a stop waits for
 * the broker's answer, a member stopped before or during its first join stays in its group, and at a low rate each
 * record costs a fetch.
 * Until: a consumer can choose when each fetch starts and how long it waits; test/kafka/fetch-wait.test.ts.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { prototypeOf, replaceInternal } from '../internals.ts'
import { untilJoined } from './coordinator-loading.ts'

/**
 * The broker answers a fetch when it has `minBytes`, or after `maxWaitTime` ms. `paceMs`: how long records collect
 * after a fetch of few records.
 */
export type FetchWait = { maxWaitTime: number; minBytes: number; paceMs: number }

type Batch = { messages: readonly unknown[] }
type Broker = { connectionPool: { pool: { rejectRequests(error: Error): void }[] } }
type ConsumerGroup = Pick<FetchWait, 'maxWaitTime' | 'minBytes'> & {
  groupId: string
  cluster: { brokerPool: { brokers: Record<string, Broker> } }
  connect(): Promise<void>
  joinAndSync(): Promise<void>
  paused(): unknown[]
  getActiveTopicPartitions(): unknown
  resume(partitions: unknown): void
  fetch(nodeId: string): Promise<Batch[]>
  recoverFromFetch(error: unknown): Promise<void>
}
type Runner = { running: boolean; consumerGroup: ConsumerGroup; stop(): Promise<void> }

/**
 * How long the fetch of an idle consumer waits. Noticing a rebalance can take this long, or twice as long with several
 * brokers. It is less than the second after which unanswered.ts doubts a broker.
 */
export const IDLE_WAIT_MS = 800
/** With fewer records, the next fetch waits: one record costs as much as dozens. */
export const FEW = 50

type ChooseWait = (isPaused: boolean) => Partial<FetchWait>

const waits = new Map<string, ChooseWait>()

/**
 * Calls `choose` before each fetch of this process's members of a group: a paused partition can resume only after it.
 * @returns a function that undoes it.
 */
export function setFetchWait(groupId: string, choose: ChooseWait): () => void {
  waits.set(groupId, choose)
  return () => {
    // another member may have replaced it
    if (waits.get(groupId) === choose) waits.delete(groupId)
  }
}

/** They fetch nothing more, and join no group again. */
const stopped = new WeakSet<ConsumerGroup>()
/** Ends the waits of members with nothing to fetch. */
const waiting = new WeakMap<ConsumerGroup, Set<() => void>>()

/** Also resolves when the member stops, and after {@link IDLE_WAIT_MS}. */
async function untilResumed(member: ConsumerGroup): Promise<void> {
  if (stopped.has(member)) return
  const ends = waiting.get(member) ?? new Set()
  waiting.set(member, ends)
  const { promise, resolve } = Promise.withResolvers<void>()
  ends.add(resolve)
  const limit = setTimeout(resolve, IDLE_WAIT_MS)
  await promise
  clearTimeout(limit)
  ends.delete(resolve)
}

/** The member that looks for partitions to fetch. It sleeps in the same turn if it finds none. */
let looking: ConsumerGroup | undefined

// before kafkajs loads consumer/consumerGroup
replaceInternal<(ms: number) => Promise<void>>(
  'utils/sleep',
  (original) => (ms) => (looking ? untilResumed(looking) : original(ms)),
)

/** The connection to a broker that only fetches use (src/network/connectionPool.js). */
const FETCHES = 1

/** Ends requests in flight. Otherwise kafkajs waits for their answers before it disconnects. */
function endFetches({ cluster }: ConsumerGroup): void {
  for (const { connectionPool } of Object.values(cluster.brokerPool.brokers))
    connectionPool.pool[FETCHES]?.rejectRequests(new Error('the consumer stops'))
}

function endWaits(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { connect, joinAndSync, getActiveTopicPartitions, resume, recoverFromFetch } = member
  member.connect = async function () {
    await connect.call(this)
    // it joins next, as after a crash
    if (stopped.has(this)) throw new Error('the consumer stops')
  }
  member.joinAndSync = async function () {
    if (stopped.has(this)) throw new Error('the consumer stops')
    await joinAndSync.call(this)
  }
  member.getActiveTopicPartitions = function () {
    looking = this
    queueMicrotask(() => {
      looking = undefined
    })
    return getActiveTopicPartitions.call(this)
  }
  function wake(of: ConsumerGroup): void {
    for (const end of waiting.get(of) ?? []) end()
  }
  member.resume = function (partitions) {
    resume.call(this, partitions)
    wake(this)
  }
  member.recoverFromFetch = async function (error) {
    if (!stopped.has(this)) await recoverFromFetch.call(this, error)
  }
  const runner = prototypeOf<Runner>('consumer/runner')
  const { stop } = runner
  runner.stop = async function () {
    const { consumerGroup } = this
    stopped.add(consumerGroup)
    // it runs only from the turn after its first join: kafkajs would not stop it before
    if (!this.running) {
      await untilJoined(consumerGroup)
      await nextTurn()
    }
    const { running } = this
    const stopping = stop.call(this)
    if (running) {
      wake(consumerGroup)
      endFetches(consumerGroup)
    }
    await stopping
  }
}

export function adjustFetchWaits(): void {
  endWaits()
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { fetch: fetchOnce } = member
  /** By broker, when it last answered with few records. */
  const answers = new WeakMap<ConsumerGroup, Map<string, number>>()

  member.fetch = async function (nodeId) {
    const choose = waits.get(this.groupId)
    // kafkajs fetches again at once: without a new turn, nothing else in this process would run
    const fetch = () => (stopped.has(this) ? nextTurn([]) : fetchOnce.call(this, nodeId))
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
