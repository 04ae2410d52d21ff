import { expect, test } from 'vitest'
import { deliveriesQueryShape, listedOf } from '../../../../control/activity/deliveries/listed.ts'
import { createDeliverySearch } from '../../../../control/activity/deliveries/search.ts'
import { createSearching } from '../../../../control/activity/events/search.ts'
import { packMetadata } from '../../../../kafka/consume/commits.ts'
import { packAhead } from '../../../../kafka/consume/tracker.ts'
import { partitionOf } from '../../../../kafka/produce/partition.ts'
import type { Reader } from '../../../../kafka/tables/reader.ts'
import type { Delivery } from '../../../../schemas/delivery.ts'
import { aDelivery } from '../../../helpers/events.ts'

const PARTITIONS = 4
type Log = Delivery[][]
const keyOf = ({ destinationId, body }: Delivery) => `${destinationId}/${JSON.parse(body).userId}`
const partitionFor = (delivery: Delivery) => partitionOf(Buffer.from(keyOf(delivery)), PARTITIONS)
const logOf = (all: readonly Delivery[]): Log =>
  Array.from({ length: PARTITIONS }, (_, partition) => all.filter((each) => partitionFor(each) === partition))

function readerOf(log: Log, reads: number[]): Pick<Reader, 'read' | 'partitions' | 'bounds'> {
  return {
    partitions: PARTITIONS,
    bounds: async () => new Map(log.map((all, partition) => [partition, { low: 0, high: all.length }])),
    async read({ partition, from, to }, onValue) {
      reads.push(partition)
      for (const [index, each] of (log[partition] ?? []).slice(from, to).entries())
        onValue(Buffer.from(JSON.stringify(each)), from + index, {
          key: Buffer.from(keyOf(each)),
          timestamp: each.routedAt,
        })
    },
  }
}

function searching(routed: Delivery[], due: Delivery[] = []) {
  const logs: Record<string, Log> = { deliveries: logOf(routed), 'deliveries.due': logOf(due) }
  const logFor = (topic: string) => logs[topic] ?? []
  const reads: number[] = []
  const found = createDeliverySearch({
    searching: createSearching(async () => ({
      bounds: async (topic) =>
        logFor(topic).map((all, partition) => ({ partition, low: 0, end: all.length })),
      at: async (topic, time) =>
        logFor(topic).map((all, partition) => ({
          partition,
          offset: all.filter(({ routedAt }) => routedAt < time).length,
        })),
      close: async () => {},
    })),
    openOffsets: async () => ({
      committed: async ({ group, topics }) => [
        group === 'deliverer'
          ? {
              topic: String(topics[0]),
              partition: 1,
              offset: 40,
              metadata: packMetadata({ ahead: packAhead(40, [42]) }),
            }
          : { topic: String(topics[0]), partition: 1, offset: 50, metadata: '' },
        { topic: String(topics[0]), partition: 2, offset: null, metadata: '' },
      ],
      close: async () => {},
    }),
    codec: { decode: (value) => ({ ok: true, value: JSON.parse(String(value)) }) },
    deliveries: readerOf(logFor('deliveries'), reads),
    due: readerOf(logFor('deliveries.due'), reads),
  })
  const search = async (asked: object, isSeen?: (of: { destinationId: string }) => boolean) => {
    const { items = [] } =
      (await found.search(deliveriesQueryShape.parse(asked), { select: undefined, isSeen })) ?? {}
    return items.map(({ deliveryId }) => deliveryId)
  }
  return { ...found, search, reads }
}

const now = Date.now()
const made = (deliveryId: string, userId = 'u1', fields: Partial<Delivery> = {}) =>
  aDelivery({
    deliveryId,
    routedAt: now - 1_000,
    body: `{"version":1,"type":"track","userId":"${userId}","event":"Paid"}`,
    ...fields,
  })

test('deliveries of the router and of replays are found; retries are not', async () => {
  const { search } = searching(
    [made('a', 'u1', { routedAt: now - 3_000 })],
    [
      made('a', 'u1', { attempt: 1 }),
      made('b', 'u1', { replay: true }),
      made('b', 'u1', { replay: true, attempt: 1 }),
    ],
  )
  expect(await search({})).toEqual(['b', 'a'])
})

test('for a user of a destination, only the partition of the key is read', async () => {
  const { search, reads } = searching([made('a'), made('b', 'u2'), made('c', 'u1', { destinationId: 'erp' })])
  expect(await search({ destinationId: 'crm', user: 'u1' })).toEqual(['a'])
  expect(new Set(reads)).toEqual(new Set([partitionOf(Buffer.from('crm/u1'), PARTITIONS)]))
  expect(new Set(await search({ user: 'u1' }))).toEqual(new Set(['a', 'c']))
})

test('deliveries that the caller may not see are not found, whatever they ask for', async () => {
  const { search } = searching([made('a'), made('b', 'u1', { destinationId: 'erp' })])
  const isSeen = ({ destinationId }: { destinationId: string }) => destinationId === 'erp'
  for (const asked of [{}, { user: 'u1' }, { destinationId: 'erp' }])
    expect(await search(asked, isSeen)).toEqual(['b'])
  expect(await search({ destinationId: 'crm' }, isSeen)).toEqual([])
})

test('one is read by its place, and a missing one is not waited for', async () => {
  const delivery = made('a')
  const { read } = searching([delivery])
  const place = { routed: true, partition: partitionFor(delivery), offset: 0 }
  expect(await read(place)).toMatchObject({ listed: { deliveryId: 'a', user: 'u1' }, delivery })
  expect(await read({ ...place, offset: 1 })).toBeUndefined()
  expect(await read({ ...place, partition: 99 })).toBeUndefined()
  expect(await read({ ...place, routed: false })).toBeUndefined()
})

test('records beyond the commit of the deliverer are unsettled, except those that it marks as settled', async () => {
  const { unsettled } = searching([])
  const of = (id: string) => ({
    ...listedOf(made('a'), 'crm/u1', { routed: true, partition: 0, offset: 0 }),
    id,
  })
  const all = ['d1-39', 'd1-40', 'd1-41', 'd1-42', 'r1-42', 'r1-49', 'r1-50', 'd2-0'].map(of)
  expect([...(await unsettled(all))].map(({ id }) => id)).toEqual(['d1-40', 'd1-41', 'r1-50', 'd2-0'])
})
