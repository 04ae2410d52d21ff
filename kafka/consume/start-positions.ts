import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import type { Connection } from '../client.ts'
import { type LogFault, partitionKey } from '../log-faults.ts'
import type { LogWatch } from '../patches/log-watch/watch.ts'
import { type CommitMetadata, unpackMetadata } from './commits.ts'
import { cutAt, unpackAhead } from './tracker.ts'

/**
 * `lostFrom`: where the log was cut or recreated since the commit. State from here on belongs to lost records.
 * `isNew`: more is settled than the commit says.
 */
export type Position = CommitMetadata & { offset: number; lostFrom?: number | undefined; isNew?: boolean }

/** `topic`: as named on the broker. */
export type Partition = { topic: string; partition: number }

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

/** Reads a group's commits, whose metadata kafkajs hides, and compares them with the logs. */
export class StartPositions {
  private readonly options: StartOptions
  private readonly admin: Pick<Admin, 'connect' | 'fetchOffsets' | 'disconnect'>
  private closed = false

  constructor(options: StartOptions) {
    this.options = options
    this.admin = options.connection.kafka.admin()
  }

  /**
   * Retries until the generation is over or this is closed.
   * @param kept the position in a partition that the member keeps. Its commit matters only if another member has read
   * on.
   * @returns by `partitionKey`. Faults are already reported.
   */
  async read(
    assigned: readonly Partition[],
    kept: (key: string) => number | undefined,
    isOver: () => boolean,
  ): Promise<Map<string, Position>> {
    const positions = await this.committed()
    this.warnAboutForeign(assigned, positions)
    while (!this.closed && !isOver()) {
      try {
        return await this.comparedWithLogs(assigned, positions, kept)
      } catch (err) {
        const { connection, groupId } = this.options
        connection.log.debug({ err, groupId }, 'cannot check the logs yet')
        await sleep(RETRY_MS)
      }
    }
    return positions
  }

  private async committed(): Promise<Map<string, Position>> {
    const { connection, groupId } = this.options
    while (!this.closed) {
      try {
        return await this.fetchCommitted()
      } catch (error) {
        connection.log.debug({ err: error, groupId }, 'cannot read the committed offsets yet')
        await sleep(RETRY_MS)
      }
    }
    return new Map()
  }

  private async fetchCommitted(): Promise<Map<string, Position>> {
    const { groupId, topics } = this.options
    await this.admin.connect()
    const offsets = await this.admin.fetchOffsets({ groupId, topics })
    return new Map(
      offsets.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata }) => [
          partitionKey(topic, partition),
          { offset: Math.max(0, Number(offset)), ...unpackMetadata(metadata ?? '') },
        ]),
      ),
    )
  }

  private warnAboutForeign(assigned: readonly Partition[], positions: Map<string, Position>): void {
    const { connection, groupId } = this.options
    for (const { topic, partition } of assigned) {
      const { offset = 0, foreign } = positions.get(partitionKey(topic, partition)) ?? {}
      if (offset > 0 && foreign)
        connection.log.warn(
          { groupId, topic, partition, offset },
          'another program has committed this offset for our consumer group: records that it skipped are not handled',
        )
    }
  }

  private async comparedWithLogs(
    assigned: readonly Partition[],
    positions: Map<string, Position>,
    kept: (key: string) => number | undefined,
  ): Promise<Map<string, Position>> {
    const { logs, onFault } = this.options
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
    this.closed = true
    await this.admin.disconnect().catch(() => undefined)
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
