import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import { messageOf } from '../../process/thrown.ts'
import type { Connection } from '../client.ts'
import type { LogFault } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch/watch.ts'
import { partitionKey, type TopicPartition } from '../topic-partition.ts'
import { type CommitMetadata, unpackMetadata } from './commits.ts'
import { cutAt, unpackAhead } from './tracker.ts'

/**
 * `lostFrom`: where the log was cut or recreated since the commit. State from here on belongs to lost records.
 * `isNew`: more is settled than the commit says.
 */
export type Position = CommitMetadata & { offset: number; lostFrom?: number | undefined; isNew?: boolean }

/** `topic`: as named on the broker. */

export type StartOptions = {
  connection: {
    kafka: { admin(): Pick<Admin, 'connect' | 'fetchOffsets' | 'disconnect'> }
    log: Connection['log']
    failures: Pick<Connection['failures'], 'add'>
  }
  groupId: string
  /** As named on the broker. */
  topics: string[]
  logs: Pick<LogWatch, 'check' | 'seek'>
  /** `time`: of the last record read. */
  onFault: (fault: LogFault & { time?: number | undefined }) => void
}

const RETRY_MS = 250
/** Between reports while a read takes long. */
const REPORT_MS = 1_000

/** What a join waits for. `error`: of the last try. */
type Wait = { text: string; since: number; error?: unknown }

const COMMITS = 'a consumer reads no records yet: it waits for the committed offsets of its group'
const LOGS = 'a consumer reads no records yet: it waits to compare the logs with the committed offsets'

/** Reads a group's commits, whose metadata kafkajs hides, and compares them with the logs. */
export class StartPositions {
  readonly #options: StartOptions
  readonly #admin: Pick<Admin, 'connect' | 'fetchOffsets' | 'disconnect'>
  #closed = false

  constructor(options: StartOptions) {
    this.#options = options
    this.#admin = options.connection.kafka.admin()
  }

  /**
   * Retries until the generation is over or this is closed.
   * @param kept the position in a partition that the member keeps. Its commit matters only if another member has read
   * on.
   * @returns by `partitionKey`. Faults are already reported.
   */
  async read(
    assigned: readonly TopicPartition[],
    kept: (key: string) => number | undefined,
    isOver: () => boolean,
  ): Promise<Map<string, Position>> {
    const positions = (await this.#retried(COMMITS, isOver, () => this.#fetchCommitted())) ?? new Map()
    this.#warnAboutForeign(assigned, positions)
    if (isOver()) return positions
    const compare = () => this.#comparedWithLogs(assigned, positions, kept)
    return (await this.#retried(LOGS, isOver, compare)) ?? positions
  }

  /** @returns undefined once the generation is over or this is closed. */
  async #retried<T>(text: string, isOver: () => boolean, read: () => Promise<T>): Promise<T | undefined> {
    const wait: Wait = { text, since: performance.now() }
    // a single try may take long
    const reporting = setInterval(() => this.#report(wait), REPORT_MS)
    try {
      while (!this.#closed)
        try {
          return await read()
        } catch (error) {
          wait.error = error
          this.#options.connection.log.debug({ err: error, groupId: this.#options.groupId }, text)
          await sleep(RETRY_MS)
          if (isOver()) break
        }
    } finally {
      clearInterval(reporting)
    }
    return undefined
  }

  #report({ text, since, error }: Wait): void {
    const { connection, groupId } = this.#options
    const err = error === undefined ? 'no answer yet' : messageOf(error)
    connection.failures.add({ kind: `${text} ${groupId}`, text, err, fields: { groupId }, since })
  }

  async #fetchCommitted(): Promise<Map<string, Position>> {
    const { groupId, topics } = this.#options
    await this.#admin.connect()
    const offsets = await this.#admin.fetchOffsets({ groupId, topics })
    return new Map(
      offsets.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata }) => [
          partitionKey(topic, partition),
          { offset: Math.max(0, Number(offset)), ...unpackMetadata(metadata ?? '') },
        ]),
      ),
    )
  }

  #warnAboutForeign(assigned: readonly TopicPartition[], positions: Map<string, Position>): void {
    const { connection, groupId } = this.#options
    for (const { topic, partition } of assigned) {
      const { offset = 0, foreign } = positions.get(partitionKey(topic, partition)) ?? {}
      if (offset > 0 && foreign)
        connection.log.warn(
          { groupId, topic, partition, offset },
          'another program has committed this offset for our consumer group: records that it skipped are not handled',
        )
    }
  }

  async #comparedWithLogs(
    assigned: readonly TopicPartition[],
    positions: Map<string, Position>,
    kept: (key: string) => number | undefined,
  ): Promise<Map<string, Position>> {
    const { logs, onFault } = this.#options
    const places = assigned.flatMap(({ topic, partition }) => {
      const key = partitionKey(topic, partition)
      const position = positions.get(key)
      if (!position || position.offset <= (kept(key) ?? -1)) return []
      return [{ topic, partition, offset: readUpTo(position), time: position.time, log: position.log }]
    })
    const compared = new Map(positions)
    for (const [key, fault] of await logs.check(places)) {
      const position = positions.get(key)
      if (!position) continue
      onFault({ ...fault, time: position.time })
      const next = afterFault(position, fault)
      compared.set(key, next)
      logs.seek({ topic: fault.topic, partition: fault.partition, offset: next.offset })
    }
    return compared
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#admin.disconnect().catch(() => undefined)
  }
}

/** Offsets that are settled ahead were read too. */
function readUpTo({ offset, ahead }: Position): number {
  const last = unpackAhead(offset, ahead).at(-1)
  return last === undefined ? offset : Math.max(offset, last + 1)
}

/** @returns where to continue, and what is settled after that. */
export const afterFault = (
  { offset, ahead, time }: Pick<Position, 'offset' | 'ahead' | 'time'>,
  { cause, to }: LogFault,
): Position =>
  cause === 'truncated'
    ? { ...cutAt({ offset, ahead }, to), time, lostFrom: to }
    : { offset: to, ahead: '', lostFrom: to }
