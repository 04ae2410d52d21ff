import type { Committed, Offsets } from '../../../kafka/admin/offsets.ts'
import { unpackMetadata } from '../../../kafka/consume/commits.ts'
import { settledAhead } from '../../../kafka/consume/tracker.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import { type Reader, readOne } from '../../../kafka/tables/reader.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { DELIVERIES, DUE } from '../../../schemas/topics.ts'
import { needlesFor } from '../events/matches.ts'
import { decoded, type Searching } from '../events/search.ts'
import type { Part, Searched } from '../events/search-backwards.ts'
import { type DeliveriesQuery, type Entry, entryOf, isFirstRecord, type Listed, listedOf } from './listed.ts'

export type Select = (listed: readonly Listed[]) => Promise<ReadonlySet<Listed>>

type Filters = {
  select: Select | undefined
  isSeen?: ((of: { destinationId: string }) => boolean) | undefined
}

export type DeliverySearch = {
  /**
   * Newest first. Returns undefined or rejects like `Searching`.
   * @param filters.select filters by facts that are not in the record. Gets batches, newest first.
   * @param filters.isSeen whether the caller may see the destination. Undefined: they may see all.
   */
  search(query: DeliveriesQuery, filters: Filters): Promise<Searched<Listed>> | undefined
  /** Undefined if there is no such delivery. Rejects if Kafka does not answer. */
  read(entry: Entry): Promise<{ listed: Listed; delivery: Delivery } | undefined>
  /** Those that the deliverer has not committed as settled. Rejects if Kafka does not answer. */
  unsettled(listed: readonly Listed[]): Promise<ReadonlySet<Listed>>
}

type TopicReader = Pick<Reader, 'read' | 'partitions' | 'bounds'>

export type DeliverySearchParts = {
  searching: Searching
  openOffsets: () => Promise<Pick<Offsets, 'committed' | 'close'>>
  codec: Pick<Codec<Delivery>, 'decode'>
  deliveries: TopicReader
  due: TopicReader
}

export function createDeliverySearch({
  searching,
  openOffsets,
  codec,
  deliveries,
  due,
}: DeliverySearchParts): DeliverySearch {
  return {
    search(query, { select, isSeen }) {
      const { limit, cursor, since, until, user, messageId, deliveryId, event } = query
      const isNarrow = [user, messageId, deliveryId, event, select, isSeen].some((each) => each !== undefined)
      return searching({
        parts: [
          deliveriesPart(query, { reader: deliveries, codec, routed: true, isSeen }),
          deliveriesPart(query, { reader: due, codec, routed: false, isSeen }),
        ],
        limit,
        cursor,
        since,
        until,
        select,
        isNarrow,
      })
    },

    async read(entry) {
      const { routed } = entry
      let found: ReturnType<typeof codec.decode> | undefined
      let keyText = ''
      await readOne(routed ? deliveries : due, entry, (value, _, { key }) => {
        keyText = String(key ?? '')
        found = codec.decode(value)
      })
      const result = await found
      if (!result?.ok || !isFirstRecord(result.value, routed)) return undefined
      return { listed: listedOf(result.value, keyText, entry), delivery: result.value }
    },

    unsettled: (listed) => unsettled(listed, openOffsets),
  }
}

async function unsettled(
  listed: readonly Listed[],
  openOffsets: DeliverySearchParts['openOffsets'],
): Promise<ReadonlySet<Listed>> {
  const offsets = await openOffsets()
  try {
    const [first, retries] = await Promise.all([
      offsets.committed({ group: 'deliverer', topics: [DELIVERIES] }),
      offsets.committed({ group: 'deliverer.due', topics: [DUE] }),
    ])
    const isSettled = settledIn({ first, retries })
    return new Set(listed.filter(({ id }) => !isSettled(id)))
  } finally {
    await offsets.close()
  }
}

type Commits = Record<'first' | 'retries', readonly Committed[]>

/** @returns whether the deliverer has committed an entry as settled. */
function settledIn({ first, retries }: Commits): (id: string) => boolean {
  const [isFirstSettled, isRetrySettled] = [settledOf(first), settledOf(retries)]
  return (id) => {
    const entry = entryOf(id)
    return entry !== undefined && (entry.routed ? isFirstSettled : isRetrySettled)(entry)
  }
}

/** Without a commit, no record of the partition is settled. */
function settledOf(commits: readonly Committed[]): (at: Omit<Entry, 'routed'>) => boolean {
  const byPartition = new Map(
    commits.map(({ partition, offset, metadata }) => {
      const end = offset ?? 0
      return [partition, { end, isAhead: settledAhead(end, unpackMetadata(metadata).ahead) }]
    }),
  )
  return ({ partition, offset }) => {
    const commit = byPartition.get(partition)
    return commit !== undefined && (offset < commit.end || commit.isAhead(offset))
  }
}

type OneTopic = Pick<Filters, 'isSeen'> & {
  reader: TopicReader
  codec: Pick<Codec<Delivery>, 'decode'>
  routed: boolean
}

function deliveriesPart(query: DeliveriesQuery, { reader, codec, routed, isSeen }: OneTopic): Part<Listed> {
  const { destinationId, sourceId, user, event, messageId, deliveryId } = query
  // the key that the router uses
  const only =
    destinationId === undefined || user === undefined
      ? undefined
      : partitionOf(Buffer.from(`${destinationId}/${user}`), reader.partitions)
  const needles = needlesFor([event, messageId, deliveryId, sourceId].flatMap((each) => each ?? []))
  return {
    topic: routed ? DELIVERIES : DUE,
    isSearched: (partition) => only === undefined || partition === only,
    read: reader.read,
    find(value, key, { partition, offset }) {
      if (!value || !key || !needles.every((needle) => value.includes(needle))) return undefined
      const text = key.toString()
      const slash = text.indexOf('/')
      if (destinationId !== undefined && text.slice(0, slash) !== destinationId) return undefined
      if (isSeen && !isSeen({ destinationId: text.slice(0, slash) })) return undefined
      if (user !== undefined && text.slice(slash + 1) !== user) return undefined
      return decoded(codec, value, (delivery) => {
        if (!isFirstRecord(delivery, routed)) return undefined
        const listed = listedOf(delivery, text, { routed, partition, offset })
        return isMatch(listed, query) && (isSeen?.(listed) ?? true) ? listed : undefined
      })
    },
  }
}

const FIELDS = ['destinationId', 'sourceId', 'event', 'user', 'messageId', 'deliveryId'] as const

export function isMatch(listed: Listed, query: Pick<DeliveriesQuery, (typeof FIELDS)[number]>): boolean {
  return FIELDS.every((field) => query[field] === undefined || listed[field] === query[field])
}
