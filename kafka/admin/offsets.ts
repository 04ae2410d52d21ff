import { CLOSE_MS, type Connection, within } from '../client.ts'
import { partitionKey } from '../log-faults.ts'
import { AssignerProtocol } from '../patches/kafkajs.ts'
import { boundsOf } from '../tables/ranges.ts'

/** `offset` null: no commit yet. `ahead`: the commit's metadata. */
export type Committed = { topic: string; partition: number; offset: number | null; ahead: string }

/** `end`: the offset after the last record. */
export type Bounds = { partition: number; low: number; end: number }

/**
 * Consumer groups and their topics; each call asks Kafka. All names are without prefix. Rejects when Kafka does not
 * answer.
 */
export type Offsets = {
  topics(): Promise<string[]>
  /** A group that does not exist has committed nothing. */
  committed(of: { group: string; topics: readonly string[] }): Promise<Committed[]>
  /** @returns by group, the `partitionKey`s of its members' partitions. */
  owned(groups: readonly string[]): Promise<Map<string, Set<string>>>
  bounds(topic: string): Promise<Bounds[]>
  /** @returns for each partition the first offset at or after this time (ms since 1970), or its end. */
  at(topic: string, time: number): Promise<{ partition: number; offset: number }[]>
  close(): Promise<void>
}

export async function openOffsets({ kafka, named, plain }: Connection): Promise<Offsets> {
  const admin = kafka.admin()
  await admin.connect()
  return {
    async topics() {
      const names = await admin.listTopics()
      return names.filter((name) => name.startsWith(named(''))).map(plain)
    },

    async committed({ group, topics }) {
      const found = await admin.fetchOffsets({ groupId: named(group), topics: topics.map(named) })
      return found.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata }) => ({
          topic: plain(topic),
          partition,
          offset: Number(offset) < 0 ? null : Number(offset),
          ahead: metadata ?? '',
        })),
      )
    },

    async owned(groups) {
      const described = await admin.describeGroups(groups.map(named))
      return new Map(
        described.groups.map(({ groupId, members }) => [
          plain(groupId),
          new Set(members.flatMap(({ memberAssignment }) => partitionsOf(memberAssignment, plain))),
        ]),
      )
    },

    async bounds(topic) {
      const found = await boundsOf(admin, named(topic))
      return [...found].map(([partition, { low, high }]) => ({ partition, low, end: high }))
    },

    async at(topic, time) {
      const found = await admin.fetchTopicOffsetsByTimestamp(named(topic), time)
      return found.map(({ partition, offset }) => ({ partition, offset: Number(offset) }))
    },

    close: () => within(CLOSE_MS, admin.disconnect()),
  }
}

/** None while the group rebalances. */
function partitionsOf(assignment: Buffer, plain: Connection['plain']): string[] {
  const decoded = AssignerProtocol.MemberAssignment.decode(assignment)
  return Object.entries(decoded?.assignment ?? {}).flatMap(([topic, partitions]) =>
    partitions.map((partition) => partitionKey(plain(topic), partition)),
  )
}
