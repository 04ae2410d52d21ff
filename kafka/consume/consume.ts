import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { EachBatchPayload, PartitionAssigner } from 'kafkajs'
import type { Attributes, Tracer } from '../../trace/trace.ts'
import { tellingFaults } from '../admin/lost-records.ts'
import { CLOSE_MS, type Connection, within } from '../client.ts'
import { IDLE_WAIT_MS, setFetchWait } from '../patches/fetch-wait.ts'
import { PartitionAssigners } from '../patches/kafkajs.ts'
import { watchLog } from '../patches/log-watch.ts'
import { replacePredecessors } from '../patches/stale-members.ts'
import { park, parked } from '../produce/park.ts'
import type { Producer } from '../produce/produce.ts'
import { batchFaultOf } from '../protocol/decode-batches.ts'
import { createAssignment, type Held, type PartitionWatch } from './assignment.ts'
import type { Decoded, Handler, Hold, Message, Rest, Taken } from './record.ts'
import { inTrace } from './spans.ts'

export type ConsumeOptions<T> = {
  connection: Connection
  /** Group id without prefix. */
  group: string
  topics: readonly string[]
  codec: { decode(value: Buffer | null): Decoded<T> | Promise<Decoded<T>> }
  handle: Handler<T>
  /** Writes parked records. */
  producer: Pick<Producer, 'produce'>
  /** The consumer has stopped for good: the process should end and be started anew. */
  onFatal: (error: Error) => void
  /** Unsettled records of a partition above which it is paused. Half of it lets it go on. */
  highWater?: number
  /** How late a paused partition notices that it may go on: the longest wait of a fetch while there is one. */
  maxWaitMs?: number
  maxBytesPerPartition?: number
  watch?: PartitionWatch
  /** Records are no longer `owned`: what has not been begun of them shall be released. */
  onGivingUp?: () => void
  /** Told of each record that has been put aside. */
  onParked?: () => void
  /** How much is under way that goes by who owns the partitions, beside the records: waited for as they are before they are given up. */
  alsoInFlight?: () => number
  tracer?: Pick<Tracer, 'process'> | undefined
  /** What a trace says of a record besides its place. */
  describe?: (value: T) => Attributes
}

type Placed = Pick<Taken<unknown>, 'topic' | 'partition' | 'offset' | 'settle'>

export type Consumer = {
  /** Resolves when the group has been joined for the first time. */
  joined: Promise<void>
  /** Whether it has a partition, and is not to give it away. */
  owns(): boolean
  /** By topic. */
  loads(): Load[]
  /** Takes nothing more, waits for what is in flight (at most `drainMs`), commits, leaves the group. */
  close(drainMs?: number): Promise<void>
}

const COMMIT_MS = 500
/** A partition that waits for a schema looks again by then, should nothing have ended its wait before. */
const SCHEMA_LOOK_MS = 60_000
/** From here on the log tells of the wait. */
const SLOW_SCHEMA_MS = 1_000
/** Records of a partition in one fetch. */
const FEW = 50
const BREATH_MS = 5

/**
 * Consumes with commits of our own: per partition up to the lowest unsettled offset, every 500 ms, before a rebalance
 * and at shutdown (ARCHITECTURE, "Hop by hop").
 */
export async function consume<T>(options: ConsumeOptions<T>): Promise<Consumer> {
  const { connection, codec, handle, producer, onFatal, highWater = 2_000, alsoInFlight = () => 0 } = options
  const { maxWaitMs = IDLE_WAIT_MS } = options
  const { tracer, describe } = options
  const { log } = connection
  const groupId = connection.named(options.group)
  const topics = options.topics.map(connection.named)
  const inFlight = () => assignment.inFlight() + alsoInFlight()
  const drain = drainBeforeJoin({
    inFlight,
    giveUp: () => {
      assignment.disown()
      options.onGivingUp?.()
    },
    commit: () => assignment.commit(),
  })
  const logs = watchLog({
    log,
    place: (topic, partition) => assignment.place(topic, partition),
    onFault: (fault) => assignment.restart(fault),
    seek: (at) => consumer.seek(at),
  })
  const consumer = connection.kafka.consumer({
    groupId,
    allowAutoTopicCreation: false,
    partitionAssigners: [logs.assigning(drain.assigner)],
    maxWaitTimeInMs: maxWaitMs,
    maxBytesPerPartition: options.maxBytesPerPartition ?? 128 * 1024,
    // how long the partitions of a killed member wait; its successor cannot join before
    sessionTimeout: 10_000,
    rebalanceTimeout: 30_000,
    // how late a member learns that another has come or gone
    heartbeatInterval: 1_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 20 },
  })
  const { watch } = options
  const onFault = tellingFaults({ connection, seenBy: options.group })
  const assignment = createAssignment({
    connection,
    consumer,
    groupId,
    topics,
    logs,
    onFault,
    highWater,
    watch,
  })
  const parkedOf = new Map<string, number>()
  let closing = false
  let breathedAt = 0

  const joined = new Promise<void>((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      drain.done()
      assignment.assign(payload.memberAssignment)
      resolve()
    })
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) onFatal(explained(payload.error))
  })

  function explained(error: Error): Error {
    if (!/supported protocols are incompatible/.test(error.message)) return error
    const text = `another program has joined consumer group ${groupId}: give it another group id. It may have skipped records of ${topics.join(', ')}`
    return new Error(text, { cause: error })
  }

  /** `value` is in none of its functions: a record that waits to be settled shall not keep it. */
  function taken(held: Held, message: Message, value: T): Taken<T> {
    const offset = Number(message.offset)
    const { partition } = held
    const topic = connection.plain(held.topic)
    const settle = () => assignment.settle(held, offset)
    return {
      topic,
      partition,
      offset,
      timestamp: Number(message.timestamp),
      key: message.key?.toString() ?? '',
      value,
      settle,
      owned: () => held.owned && !closing,
      release: () => held.tracker.release(offset),
      park: (original, reason) => putAside({ topic, partition, offset, settle }, original, reason),
    }
  }

  function putAside(record: Placed, message: Message, reason: string): void {
    const { topic, partition, offset } = record
    log.error({ topic, partition, offset, reason }, 'a record cannot be handled; it is kept in topic parked')
    park(producer, parked({ topic, partition, offset, message, reason })).then((outcome) => {
      if (outcome === 'acked') {
        options.onParked?.()
        parkedOf.set(topic, (parkedOf.get(topic) ?? 0) + 1)
        record.settle()
      } else if (!closing) onFatal(new Error(`a record could be neither handled nor parked: ${outcome}`))
    }, onFatal)
  }

  /** @returns whether the batch goes on behind this message, and then maybe for how long its partition rests after it. */
  function take(held: Held, message: Message, decoded: Decoded<T>): boolean | Rest {
    if (!held.tracker.take(Number(message.offset), Number(message.timestamp))) return true
    const record = taken(held, message, decoded.ok ? decoded.value : (undefined as T))
    if (!decoded.ok) {
      putAside(record, message, `${decoded.reason}: ${decoded.message}`)
      return true
    }
    const pause = guarded(held, record, message) ?? true
    if (pause === true || 'restUntil' in pause) return pause
    record.release()
    assignment.hold(held, pause.holdUntil)
    return false
  }

  /** A batch that cannot be decoded came as one message, which is parked as it is. */
  function decode(message: Message): Decoded<T> | Promise<Decoded<T>> {
    const fault = batchFaultOf(message)
    if (!fault) return codec.decode(message.value)
    const { firstOffset, lastOffset, reason } = fault
    const said = `the batch of offsets ${firstOffset} to ${lastOffset} cannot be decoded: ${reason}`
    return { ok: false, reason: 'undecodable', message: said }
  }

  /** This partition alone waits: its record comes again when the registry has answered, and is decoded at once. */
  function holdForSchema(held: Held, { offset }: Message, answer: Promise<unknown>): void {
    const { topic, partition } = held
    const slow = setTimeout(() => {
      log.warn({ topic, partition, offset }, 'the schema registry has not answered; the partition waits')
    }, SLOW_SCHEMA_MS).unref()
    assignment.hold(held, Date.now() + SCHEMA_LOOK_MS)
    const goOn = () => {
      clearTimeout(slow)
      if (held.waiting === 'held') assignment.hold(held, Date.now())
    }
    answer.then(goOn, goOn)
  }

  /** An error that left this function would stop the consumer, some kinds of it for good. */
  function guarded({ topic }: Held, record: Taken<T>, message: Message): Hold | Rest | undefined {
    try {
      // one that is held comes again: what was opened for it is then never told of
      const where = tracer && { topic, group: groupId, headers: message.headers, describe }
      return handle(where ? inTrace(tracer, record, where) : record, message)
    } catch (error) {
      record.park(message, error instanceof Error ? `${error.name}: ${error.message}` : String(error))
      return undefined
    }
  }

  async function eachBatch({ batch, resolveOffset, isRunning, isStale }: EachBatchPayload): Promise<void> {
    const held = await assignment.held(batch.topic, batch.partition)
    if (!held?.owned || !assignment.isHeld(held) || closing || !isRunning() || isStale()) return
    held.end = Number(batch.highWatermark)
    let restUntil = 0
    let last: Message | undefined
    /** Once for many, as the client counts in 64-bit objects; in the turn in which they were taken, as later it may be another member's. */
    function resolve(): void {
      if (last) resolveOffset(last.offset)
      last = undefined
    }
    for (const message of batch.messages) {
      const decoded = decode(message)
      const isAsked = decoded instanceof Promise
      if (isAsked) holdForSchema(held, message, decoded)
      const goes = !isAsked && take(held, message, decoded)
      if (!goes) {
        resolve()
        assignment.pauseIfFull(held)
        return
      }
      if (goes !== true) ({ restUntil } = goes)
      last = message
    }
    resolve()
    if (!assignment.pauseIfFull(held) && restUntil > Date.now()) assignment.hold(held, restUntil)
    // else all batches of a fetch are taken in one turn, and what was sent meanwhile waits for its acknowledgement to be read
    await (batch.messages.length < FEW ? breathe() : nextTurn())
  }

  /** The client fetches again when its handlers have returned, and a fetch for a few records costs as much as one for hundreds. */
  async function breathe(): Promise<void> {
    if (performance.now() - breathedAt < BREATH_MS) return
    await sleep(BREATH_MS)
    breathedAt = performance.now()
  }

  const endWaits = setFetchWait(groupId, (isPaused) => ({ maxWaitTime: isPaused ? maxWaitMs : IDLE_WAIT_MS }))
  const heir = connection.soleClientId ? replacePredecessors(groupId, connection.soleClientId) : undefined
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer
    .run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
    .catch((error) => Promise.reject(explained(error)))
  const commits = setInterval(() => void assignment.commit(), COMMIT_MS)

  return {
    joined,
    owns: () => !closing && assignment.owns(),
    loads: () =>
      options.topics.map((topic) => ({
        group: options.group,
        topic,
        ...loadOf(assignment.owned(connection.named(topic))),
        parked: parkedOf.get(topic) ?? 0,
      })),
    async close(drainMs = 10_000) {
      closing = true
      options.onGivingUp?.()
      assignment.pauseAll()
      const end = performance.now() + drainMs
      while (inFlight() > 0 && performance.now() < end) await sleep(20)
      clearInterval(commits)
      await within(CLOSE_MS, assignment.commit())
      await within(CLOSE_MS, Promise.all([assignment.close(), consumer.disconnect()]))
      heir?.()
      endWaits()
    },
  }
}

/**
 * Kafka keeps members of other protocols out of a group. One of kafkajs's own name would let any program in that has the same group id: it
 * would be given partitions, and what it commits nobody else reads.
 */
const PROTOCOL = 'sluice'
const DRAIN_MS = 2_000
const COMMIT_WAIT_MS = 1_000

/**
 * Before a member joins the next generation of its group, what it has in flight may settle, for a bounded time, and is
 * committed: the partition's next owner then sends little of it again. kafkajs has no hook for that, but it asks each
 * assigner for its protocol just before joining, and tries again while that says `REBALANCE_IN_PROGRESS`.
 */
export function drainBeforeJoin(work: { inFlight(): number; giveUp(): void; commit(): Promise<void> }): {
  assigner: PartitionAssigner
  /** To be called when the group has been joined. */
  done(): void
} {
  // before the first join there is nothing to drain
  let state: 'idle' | 'draining' | 'drained' = 'drained'

  async function drain(): Promise<void> {
    state = 'draining'
    work.giveUp()
    const end = performance.now() + DRAIN_MS
    while (work.inFlight() > 0 && performance.now() < end) await sleep(10)
    await Promise.race([work.commit(), sleep(COMMIT_WAIT_MS)])
    state = 'drained'
  }

  return {
    assigner: (config) => {
      const assigner = PartitionAssigners.roundRobin(config)
      return {
        ...assigner,
        name: PROTOCOL,
        protocol(subscription) {
          if (state === 'idle') void drain()
          if (state !== 'drained')
            throw Object.assign(new Error('what is in flight settles first'), {
              type: 'REBALANCE_IN_PROGRESS',
            })
          return { ...assigner.protocol(subscription), name: PROTOCOL }
        },
      }
    },
    done() {
      state = 'idle'
    },
  }
}

/** How far a consumer is with a topic, as it says itself. From outside the same is seen as lag (control/lag/). */
export type Load = {
  group: string
  topic: string
  /** Those of the topic that it has. */
  partitions: number
  /** Records that were fetched and are not settled. */
  unsettled: number
  /** The time of the oldest of them, ms since 1970. */
  oldest: number | undefined
  /** Records put aside since the start. */
  parked: number
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
