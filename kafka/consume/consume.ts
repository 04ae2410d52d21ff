import { setTimeout as sleep } from 'node:timers/promises'
import type { EachBatchHandler, Consumer as KafkaJsConsumer } from 'kafkajs'
import { within } from '../../process/timeout.ts'
import { untilBack } from '../admin/failures.ts'
import { createFaultReporter } from '../admin/lost-records.ts'
import { CLOSE_MS, CONSUMER_RETRIES, type Connection } from '../client.ts'
import { drainBeforeJoin } from '../patches/consumer/drain-before-join.ts'
import { IDLE_WAIT_MS, setFetchWait } from '../patches/consumer/fetch-wait.ts'
import { replacePredecessors } from '../patches/consumer/stale-members.ts'
import { watchLog } from '../patches/log-watch/watch.ts'
import { Assignment, type Held, type PartitionWatch } from './assignment.ts'
import { BatchHandler, type HandleOptions } from './handle-batches.ts'

export type ConsumeOptions<T> = HandleOptions<T> & {
  /** Without prefix. */
  group: string
  topics: readonly string[]
  /** A partition is paused at this many unsettled records, and resumes at half. */
  highWater?: number
  /** How long a paused partition may take to resume, in ms. */
  maxWaitMs?: number
  /** How long records collect after a fetch of few records, in ms. */
  paceMs?: number
  maxBytesPerPartition?: number
  watch?: PartitionWatch
  /** Records are no longer `owned`: release those that are not started. */
  onGivingUp?: () => void
  /** Other work to finish before partitions are given up. */
  alsoInFlight?: () => number
}

export type Consumer = {
  joined: Promise<void>
  /** Whether it has this partition (default: any) and keeps it. */
  owns(partition?: number): boolean
  loads(): Load[]
  /** Waits for records in flight (at most `drainMs`), commits, and leaves the group. */
  close(drainMs?: number): Promise<void>
}

export type Load = {
  group: string
  topic: string
  partitions: number
  unsettled: number
  /** Time of the oldest unsettled record, in ms since 1970. */
  oldest: number | undefined
  /** Since this process started. */
  parked: number
}

const COMMIT_MS = 500
const PACE_MS = 5
/** A member can leave only after its join, which waits until the other members have settled their records. */
const JOIN_MS = 5_000
/** A join may take this long: others settle their records, and the sessions of killed members end. */
const LONG_JOIN_MS = 15_000

/**
 * Commits each partition up to its lowest unsettled offset: every 500 ms, before a rebalance and at shutdown
 * (ARCHITECTURE, "Hop by hop").
 */
export async function consume<T>(options: ConsumeOptions<T>): Promise<Consumer> {
  const member = createMember(options)
  const { consumer, assignment, batches, groupId, inFlight, isJoining } = member
  const { connection, group, onGivingUp } = options
  const { maxWaitMs = IDLE_WAIT_MS, paceMs = PACE_MS } = options
  const resetFetchWait = setFetchWait(groupId, (isPaused) => ({
    maxWaitTime: isPaused ? maxWaitMs : IDLE_WAIT_MS,
    paceMs,
  }))
  const { soleClientId } = connection
  const resetPredecessors = soleClientId ? replacePredecessors(groupId, soleClientId) : undefined

  async function leave(limitMs = CLOSE_MS): Promise<void> {
    await within(limitMs, Promise.all([assignment.close(), consumer.disconnect()]))
    resetPredecessors?.()
    resetFetchWait()
  }

  const reportJoin = createJoinReport(connection, { groupId, isJoining })
  const ticks = setInterval(() => {
    void assignment.commit()
    reportJoin()
  }, COMMIT_MS)
  try {
    await member.run()
  } catch (error) {
    clearInterval(ticks)
    await leave()
    throw error
  }

  return {
    joined: member.joined,
    owns: (partition) => !batches.closing && assignment.owns(partition),
    loads: () =>
      options.topics.map((topic) => ({
        group,
        topic,
        ...loadOf(assignment.owned(connection.named(topic))),
        parked: batches.parked(topic),
      })),
    async close(drainMs = 10_000) {
      batches.closing = true
      onGivingUp?.()
      assignment.pauseAll()
      const end = performance.now() + drainMs
      while (inFlight() > 0 && performance.now() < end) await sleep(20)
      clearInterval(ticks)
      await within(CLOSE_MS, assignment.commit())
      const joinMs = isJoining() ? Math.min(JOIN_MS, end - performance.now()) : 0
      await leave(Math.max(CLOSE_MS, joinMs))
    },
  }
}

/** The kafkajs consumer and its state refer to each other. */
function createMember<T>(options: ConsumeOptions<T>) {
  const { connection, group, highWater = 2_000, alsoInFlight = () => 0, watch, onGivingUp } = options
  const groupId = connection.named(group)
  const topics = options.topics.map(connection.named)
  const inFlight = () => assignment.inFlight() + alsoInFlight()
  const drain = drainBeforeJoin({
    inFlight,
    giveUp() {
      assignment.disown()
      onGivingUp?.()
    },
    commit: () => assignment.commit(),
  })
  const logs = watchLog({
    log: connection.log,
    fetchPosition: (topic, partition) => assignment.fetchPosition(topic, partition),
    onFault: (fault) => assignment.restart(fault),
    seek: (at) => consumer.seek(at),
    onElection: () => void connection.elections.emit('election'),
  })
  const partitionAssigners = [logs.assigning(drain.assigner)]
  const isWanted = () => !batches.closing
  const consumer = connection.kafka.consumer({ groupId, partitionAssigners, ...configOf(options, isWanted) })
  const onFault = createFaultReporter({ connection, seenBy: group })
  const assignment = new Assignment({
    connection,
    consumer,
    groupId,
    topics,
    logs,
    onFault,
    highWater,
    watch,
  })
  const batches = new BatchHandler(options, groupId, assignment)
  const joined = whenJoined(consumer, (memberAssignment) => {
    drain.joined()
    assignment.assign(memberAssignment)
  })
  const explain = (error: Error) => explained(error, groupId, topics)
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart && isWanted()) options.onFatal(explain(payload.error))
  })

  const eachBatch: EachBatchHandler = (payload) => batches.eachBatch(payload)
  const run = () => start(consumer, topics, eachBatch).catch((error) => Promise.reject(explain(error)))
  return { consumer, assignment, batches, groupId, inFlight, isJoining: drain.isJoining, joined, run }
}

async function start(
  consumer: KafkaJsConsumer,
  topics: string[],
  eachBatch: EachBatchHandler,
): Promise<void> {
  await untilBack(() => consumer.connect())
  await untilBack(() => consumer.subscribe({ topics, fromBeginning: true }))
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
}

const configOf = (
  {
    maxWaitMs = IDLE_WAIT_MS,
    maxBytesPerPartition = 128 * 1024,
  }: Pick<ConsumeOptions<unknown>, 'maxWaitMs' | 'maxBytesPerPartition'>,
  isWanted: () => boolean,
) => ({
  allowAutoTopicCreation: false,
  maxWaitTimeInMs: maxWaitMs,
  maxBytesPerPartition,
  // how long a killed member's partitions stall, without a successor
  sessionTimeout: 10_000,
  rebalanceTimeout: 30_000,
  // less than the wait of an idle fetch, so that one follows each
  heartbeatInterval: IDLE_WAIT_MS - 50,
  retry: {
    ...CONSUMER_RETRIES,
    // a consumer that crashes while it is closed would join its group again
    restartOnFailure: async () => isWanted(),
  },
})

function whenJoined(
  consumer: KafkaJsConsumer,
  onJoin: (assignment: Record<string, number[]>) => void,
): Promise<void> {
  return new Promise((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      onJoin(payload.memberAssignment)
      resolve()
    })
  })
}

/** Logs long joins: kafkajs retries them silently. @returns a function to call often. */
function createJoinReport(
  { failures }: Pick<Connection, 'failures'>,
  { groupId, isJoining }: { groupId: string; isJoining: () => boolean },
): () => void {
  let since: number | undefined
  return () => {
    since = isJoining() ? (since ?? performance.now()) : undefined
    if (since === undefined || performance.now() - since < LONG_JOIN_MS) return
    const text = 'a consumer reads no records yet: it waits to join its group'
    failures.add({ kind: `join ${groupId}`, text, fields: { groupId }, since })
  }
}

function explained(error: Error, groupId: string, topics: readonly string[]): Error {
  if (!/supported protocols are incompatible/.test(error.message)) return error
  const text = `another program has joined consumer group ${groupId}: give it another group id. It may have skipped records of ${topics.join(', ')}`
  return new Error(text, { cause: error })
}

export function loadOf(
  held: readonly Pick<Held, 'tracker'>[],
): Pick<Load, 'partitions' | 'unsettled' | 'oldest'> {
  const times = held.flatMap(({ tracker }) => tracker.oldest() ?? [])
  return {
    partitions: held.length,
    unsettled: held.reduce((sum, { tracker }) => sum + tracker.unsettled(), 0),
    oldest: times.length > 0 ? Math.min(...times) : undefined,
  }
}
