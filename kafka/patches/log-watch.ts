import { createRequire } from 'node:module'
import type { PartitionAssigner } from 'kafkajs'
import type { Logger } from '../../process/log.ts'
import { isAway, isLedElsewhere } from './coordinator-moves.ts'
import {
  type Broker,
  describeTopics,
  endsOfEpochs,
  type PartitionState,
  tellsEpochs,
} from './log-requests.ts'

export const partitionKey = (topic: string, partition: number) => `${topic}/${partition}`

const require = createRequire(import.meta.url)

/**
 * Why a reader cannot go on where it was. `removed`: the records there were deleted at the front of the log. `truncated`: the log has
 * lost its end, as after a power cut or an unclean election. `recreated`: the topic was deleted and created again.
 */
export type Cause = 'removed' | 'truncated' | 'recreated'

/** Which log a reader has read: the topic's id, and the leader epoch under which it was read last. */
export type KnownLog = { id: string; epoch: number }

/**
 * Where a reader is. `offset`: the next one to read. `time`: of the last record read, ms since 1970. `end`: of the log, as it was seen last.
 * `again`: before `offset`, the first that has to be read once more.
 */
export type Place = {
  offset: number
  time?: number | undefined
  end?: number | undefined
  again?: number | undefined
}

/** `topic`: as named on the broker. `offset`: where the reader was. `to`: where it goes on. */
export type LogFault = { topic: string; partition: number; cause: Cause; offset: number; to: number }

/** A verdict on a place. `to`: an offset, the beginning of the log, or shortly before the time of the last record read. */
export type Verdict = { cause: Cause; to: number | 'beginning' | 'time' }

/**
 * Whether a place still stands (KIP-320). All up to it, and up to the end that was seen, was written before `known.epoch` ended: when that
 * epoch ends before it, the records in between are gone, and what is there now, or will be, are others.
 * @param epochEnd where `known.epoch` ended; -1: the leader does not know it; undefined: the epoch is still the same.
 */
export function judge(
  { offset, end = offset }: Place,
  known: KnownLog,
  now: { id: string; epochEnd?: number | undefined },
): Verdict | undefined {
  if (known.id !== now.id) return { cause: 'recreated', to: 'beginning' }
  // of an empty log some leaders know no epoch at all
  if (now.epochEnd === undefined || Math.max(0, now.epochEnd) >= Math.max(offset, end)) return undefined
  return { cause: 'truncated', to: now.epochEnd < 0 ? 'time' : now.epochEnd }
}

/** Whether a place is within the log: from `low`, its first record, to `high`, behind its last one. */
export function judgeRange(
  { offset, again = offset }: Place,
  { low, high }: { low: number; high: number },
): Verdict | undefined {
  if (again < low) return { cause: 'removed', to: low }
  return offset > high ? { cause: 'truncated', to: 'time' } : undefined
}

/** `log`: the one it was committed for; undefined: nobody said, so that it stands. */
export type Committed = Place & { topic: string; partition: number; log: KnownLog | undefined }

export type LogWatch = {
  /** To be put around the consumer's assigner: this is how the watch gets to know the consumer's own connections. */
  assigning(assigner: PartitionAssigner): PartitionAssigner
  known(topic: string, partition: number): KnownLog | undefined
  /** The partition has been another member's, or may have been: what is known of its log is past. */
  forget(topic: string, partition: number): void
  /**
   * Compares committed places with the logs; those that stand are known from here on.
   * @returns the others, by `partitionKey`; it has not told `onFault` of them, nor moved the consumer. Rejects when Kafka does not answer.
   */
  check(places: readonly Committed[]): Promise<Map<string, LogFault>>
  /** Reads on from there; batches that were fetched before are dropped. */
  seek(at: { topic: string; partition: number; offset: number }): void
}

export type WatchOptions = {
  log: Logger
  /** Where the reader of a partition is; undefined: it has none there yet, so that nothing is looked at. */
  place: (topic: string, partition: number) => Place | undefined
  /**
   * Called before the consumer is moved. A log that has lost nothing but what was not read yet was cut behind the place: `to` is not
   * below `offset`. Only places that tell an `end` are told of that. @returns where to go on; `to` unless told.
   */
  onFault: (fault: LogFault) => number | undefined
  seek: (at: { topic: string; partition: number; offset: string }) => void
  /** A table is read again from the beginning, whatever has happened to its log. */
  fromBeginning?: boolean
}

type Cluster = {
  brokerPool: { withBroker<T>(ask: (of: { broker: Broker }) => Promise<T>): Promise<T | null> }
  findBroker(of: { nodeId: number | string }): Promise<Broker>
  refreshMetadata(): Promise<void>
  fetchTopicsOffset(
    topics: {
      topic: string
      partitions: { partition: number }[]
      fromBeginning?: boolean
      fromTimestamp?: number
    }[],
  ): Promise<{ partitions: { offset: string }[] }[]>
}
type Member = {
  cluster: Cluster
  assigned(): { topic: string; partitions: number[] }[]
  fetch(nodeId: string): Promise<Batch[]>
  recoverFromFetch(error: unknown): Promise<void>
  recoverFromOffsetOutOfRange(error: { topic: string; partition: number }): Promise<void>
}
type Batch = { topic: string; partition: number }
type Fetch = { topics: { topic: string; partitions: { partition: number; currentLeaderEpoch?: number }[] }[] }

/** What this file's hooks in kafkajs ask of a watch. */
type Watch = {
  beforeFetch(member: Member): Promise<void>
  epochOf(topic: string, partition: number): number
  lookSoon(): void
  outOfRange(topic: string, partition: number): Promise<void>
  moves(): number
  movedSince(move: number, batch: Batch): boolean
}

/** A topic that was created again within one leader epoch shows only in a look. */
const LOOK_MS = 1_000
/** A cut that no epoch tells of: so much is read again, as the clocks of writers differ. */
const REPEAT_MS = 60_000
/** A broker that is cut off from the others goes on telling the epochs that it knew. Only a cluster that was restored tells them for so long. */
const BEHIND_MS = 30_000

type At = { topic: string; partition: number }
type Found = At & { id: string } & PartitionState

export function watchLog(options: WatchOptions): LogWatch {
  const { log, place, onFault, fromBeginning = false } = options
  const known = new Map<string, KnownLog>()
  const movedAt = new Map<string, number>()
  let cluster: Cluster | undefined
  let moves = 0
  let lookAt = 0
  let looking: Promise<void> | undefined
  let behindSince: number | undefined
  let unable = false

  /** @returns undefined when the brokers are too old to tell. */
  async function describe(topics: readonly string[]): Promise<Map<string, Found> | undefined> {
    const states = await cluster?.brokerPool.withBroker(async ({ broker }) =>
      tellsEpochs(broker) ? describeTopics(broker, topics) : 'unable',
    )
    if (!states)
      throw Object.assign(new Error('no broker describes the topics'), { name: 'KafkaJSBrokerNotFound' })
    if (states === 'unable') {
      if (!unable)
        log.info(
          'the brokers tell no leader epochs: a log that has lost its end is noticed late, or not at all',
        )
      unable = true
      // what nobody follows any more must not refuse fetches
      known.clear()
      return undefined
    }
    return new Map(
      states.flatMap(({ topic, id, partitions }) =>
        partitions.map((state) => [partitionKey(topic, state.partition), { topic, id, ...state }]),
      ),
    )
  }

  /** @returns by `partitionKey` where the epoch that is known ended. */
  async function ends(of: readonly { now: Found; log: KnownLog }[]): Promise<Map<string, number>> {
    const byLeader = Map.groupBy(of, ({ now }) => now.leader)
    const answers = await Promise.all(
      [...byLeader].map(async ([leader, some]) => {
        const broker = await cluster?.findBroker({ nodeId: leader })
        const questions = some.map(({ now, log: { epoch } }) => ({ ...now, current: now.epoch, epoch }))
        return broker ? endsOfEpochs(broker, questions) : []
      }),
    )
    return new Map(answers.flat().map(({ topic, partition, end }) => [partitionKey(topic, partition), end]))
  }

  type Looked = At & { place: Place; log: KnownLog | undefined }
  /** `epochEnd`: see `judge`. */
  type Compared = { now: Found; at: Looked; epochEnd: number | undefined }

  /** @throws as a broker does that does not lead a partition: another one is asked next time. */
  function refuseOlder(isBehind: boolean): void {
    behindSince = isBehind ? (behindSince ?? performance.now()) : undefined
    if (behindSince === undefined || performance.now() - behindSince > BEHIND_MS) return
    const text = 'a broker tells an older leader epoch than is known'
    throw Object.assign(new Error(text), { type: 'FENCED_LEADER_EPOCH' })
  }

  /** @returns the logs as they are now, of those that have a leader. */
  async function compare(places: readonly Looked[]): Promise<Compared[]> {
    const found = await describe([...new Set(places.map(({ topic }) => topic))])
    if (!found) return []
    const pairs = places.flatMap((at) => {
      const now = found.get(partitionKey(at.topic, at.partition))
      return now && now.leader >= 0 ? [{ at, now }] : []
    })
    const changed = pairs.flatMap(({ at: { log }, now }) =>
      log?.id === now.id && log.epoch !== now.epoch ? [{ log, now }] : [],
    )
    refuseOlder(changed.some(({ log, now }) => now.epoch < log.epoch))
    const epochEnds = await ends(changed)
    return pairs.map(({ at, now }) => ({
      at,
      now,
      epochEnd: epochEnds.get(partitionKey(at.topic, at.partition)),
    }))
  }

  async function offsetAt(
    { topic, partition }: At,
    when: { fromBeginning: boolean } | { fromTimestamp: number },
  ) {
    const [found] =
      (await cluster?.fetchTopicsOffset([{ topic, partitions: [{ partition }], ...when }])) ?? []
    const offset = Number(found?.partitions[0]?.offset ?? -1)
    return offset < 0 ? undefined : offset
  }

  async function resolve(at: At, { offset, time }: Place, { cause, to }: Verdict): Promise<LogFault> {
    // kafkajs may still take the leaders for what they were
    await cluster?.refreshMetadata()
    const fault = (found: number) => ({ topic: at.topic, partition: at.partition, cause, offset, to: found })
    const low = async () => (await offsetAt(at, { fromBeginning: true })) ?? 0
    if (fromBeginning || to === 'beginning' || (to === 'time' && time === undefined))
      return fault(await low())
    if (to !== 'time') return fault(to)
    const since = await offsetAt(at, { fromTimestamp: Math.max(0, (time ?? 0) - REPEAT_MS) })
    return fault(since ?? (await offsetAt(at, { fromBeginning: false })) ?? 0)
  }

  /** Batches of it that were fetched before are dropped, and come again from where the reader is. */
  function dropFetched({ topic, partition }: At): void {
    moves += 1
    movedAt.set(partitionKey(topic, partition), moves)
  }

  function seek({ topic, partition, offset }: At & { offset: number }): void {
    dropFetched({ topic, partition })
    try {
      options.seek({ topic, partition, offset: String(offset) })
    } catch (err) {
      log.debug({ err, topic, partition }, 'no seek: the consumer restarts, and its join sees to it')
    }
  }

  function move(fault: LogFault): void {
    const offset = onFault(fault) ?? fault.to
    seek({ topic: fault.topic, partition: fault.partition, offset })
  }

  async function look(member: Member): Promise<void> {
    lookAt = performance.now() + LOOK_MS
    const assigned = member
      .assigned()
      .flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })))
    const places = assigned.flatMap((at) => {
      const log = known.get(partitionKey(at.topic, at.partition))
      const from = place(at.topic, at.partition)
      return from ? [{ ...at, place: from, log }] : []
    })
    if (places.length > 0) for (const compared of await compare(places)) await adopt(compared)
  }

  /** The log is known as it is now, and a place in it that does not stand is left. @returns whether it stands. */
  async function adopt({ at, now, epochEnd }: Compared): Promise<boolean> {
    const key = partitionKey(at.topic, at.partition)
    // records that were fetched before may have been read since it was looked at
    const from = place(at.topic, at.partition) ?? at.place
    const verdict = at.log && judge(from, at.log, { id: now.id, epochEnd })
    const fault = verdict && (await resolve(at, from, verdict))
    // given away meanwhile, or known anew
    if (known.get(key) !== at.log) return false
    known.set(key, { id: now.id, epoch: now.epoch })
    if (fault) move(fault)
    else if (epochEnd !== undefined) dropFetched(at)
    return !fault
  }

  const watch: Watch = {
    async beforeFetch(member) {
      cluster = member.cluster
      if (unable || performance.now() < lookAt) return
      const isUrgent = lookAt === 0
      looking ??= look(member).finally(() => {
        looking = undefined
      })
      // else it goes on beside the fetch: a broker that does not answer must not hold up what the others have
      if (isUrgent) await looking
      else looking.catch((err) => log.debug({ err }, 'the logs cannot be looked at now'))
    },
    epochOf: (topic, partition) => known.get(partitionKey(topic, partition))?.epoch ?? -1,
    lookSoon() {
      lookAt = 0
    },
    async outOfRange(topic, partition) {
      const from = place(topic, partition)
      if (!from) return
      const at = { topic, partition }
      const log = known.get(partitionKey(topic, partition))
      const [compared] = await compare([{ ...at, place: from, log }])
      // without a leader nobody can say what the log is: the next fetch asks again
      if (compared ? !(await adopt(compared)) : !unable) return
      await cluster?.refreshMetadata()
      const low = (await offsetAt(at, { fromBeginning: true })) ?? 0
      const high = (await offsetAt(at, { fromBeginning: false })) ?? 0
      const verdict = judgeRange(from, { low, high })
      const { again = from.offset } = from
      if (verdict?.cause === 'removed') move(await resolve(at, { offset: again }, verdict))
      else if (verdict) move(await resolve(at, from, verdict))
      // a join has put the consumer elsewhere
      else seek({ ...at, offset: again })
    },
    moves: () => moves,
    movedSince: (move, { topic, partition }) => (movedAt.get(partitionKey(topic, partition)) ?? 0) > move,
  }

  return {
    assigning: (assigner) => (config) => {
      cluster = config.cluster as unknown as Cluster
      watches.set(cluster, watch)
      return assigner(config)
    },
    known: (topic, partition) => known.get(partitionKey(topic, partition)),
    forget: (topic, partition) => void known.delete(partitionKey(topic, partition)),
    async check(places) {
      const faults = new Map<string, LogFault>()
      if (unable || places.length === 0) return faults
      // one that has no leader now is looked at when it has one
      for (const { topic, partition, log } of places) if (log) known.set(partitionKey(topic, partition), log)
      const compared = await compare(
        places.map(({ topic, partition, log, ...from }) => ({ topic, partition, log, place: from })),
      )
      for (const { at, now, epochEnd } of compared) {
        const key = partitionKey(at.topic, at.partition)
        const verdict = at.log && judge(at.place, at.log, { id: now.id, epochEnd })
        if (verdict) faults.set(key, await resolve(at, at.place, verdict))
        known.set(key, { id: now.id, epoch: now.epoch })
      }
      return faults
    },
    seek,
  }
}

/** By the connections of a consumer, which no other one has. */
const watches = new WeakMap<Cluster, Watch>()
const watchOf = new WeakMap<Broker, Watch>()
const fetched = new WeakMap<Batch, { watch: Watch; move: number }>()

/**
 * Has all of kafkajs's consumers in this process notice that a log is not the one they have read (docs/decisions/019). Left to itself kafkajs
 * goes back to the beginning when its offset is out of range, and otherwise goes on, over whatever is there now. Fetches say under which
 * leader epoch they read: a broker that has another one refuses them, so that nothing is read before the look.
 */
export function watchLogs(): void {
  const member: { prototype: Member } = require('kafkajs/src/consumer/consumerGroup')
  const { fetch, recoverFromFetch, recoverFromOffsetOutOfRange } = member.prototype
  const hooks: Pick<Member, 'fetch' | 'recoverFromFetch' | 'recoverFromOffsetOutOfRange'> & ThisType<Member> =
    {
      async fetch(nodeId) {
        const watch = watches.get(this.cluster)
        if (!watch) return fetch.call(this, nodeId)
        try {
          await watch.beforeFetch(this)
          watchOf.set(await this.cluster.findBroker({ nodeId }), watch)
        } catch (error) {
          if (!isAway(error) && !isLedElsewhere(error)) throw error
          await this.recoverFromFetch(error)
          return []
        }
        const move = watch.moves()
        const batches = await fetch.call(this, nodeId)
        for (const batch of batches) fetched.set(batch, { watch, move })
        return batches.filter((batch) => !watch.movedSince(move, batch))
      },
      async recoverFromFetch(error) {
        watches.get(this.cluster)?.lookSoon()
        return recoverFromFetch.call(this, error)
      },
      async recoverFromOffsetOutOfRange(error) {
        const watch = watches.get(this.cluster)
        if (!watch) return recoverFromOffsetOutOfRange.call(this, error)
        await watch.outOfRange(error.topic, error.partition).catch((failed) => {
          if (!isAway(failed) && !isLedElsewhere(failed)) throw failed
        })
      },
    }
  Object.assign(member.prototype, hooks)
  fenceFetches()
  dropStale()
}

function fenceFetches(): void {
  const broker: {
    prototype: Broker & { fetch(request: Fetch): Promise<unknown> }
  } = require('kafkajs/src/broker')
  const { fetch } = broker.prototype
  broker.prototype.fetch = function (request) {
    const watch = watchOf.get(this)
    if (!watch) return fetch.call(this, request)
    const topics = request.topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((of) => ({ ...of, currentLeaderEpoch: watch.epochOf(topic, of.partition) })),
    }))
    return fetch.call(this, { ...request, topics })
  }
}

/** A batch may wait behind others while its partition is moved. */
function dropStale(): void {
  const runner: {
    prototype: { handleBatch(batch: Batch): Promise<void> }
  } = require('kafkajs/src/consumer/runner')
  const { handleBatch } = runner.prototype
  runner.prototype.handleBatch = async function (batch) {
    const from = fetched.get(batch)
    if (from?.watch.movedSince(from.move, batch)) return
    await handleBatch.call(this, batch)
  }
}
