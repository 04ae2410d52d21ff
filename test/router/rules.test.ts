import { describe, expect, test } from 'vitest'
import type { ConsumerRecord } from '../../kafka/consume/record.ts'
import type { OutRecord, Produced } from '../../kafka/produce/produce.ts'
import type { Slices } from '../../process/slices.ts'
import { type DeliveryWriterParts, writeDeliveries } from '../../router/deliveries.ts'
import { codec } from '../../schemas/codec.ts'
import { eventPlaceIn, rulesCodeIn } from '../../schemas/dead-record.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDestination, anEvent } from '../helpers/events.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { until } from '../helpers/until.ts'

const deliveries = codec('delivery', 1, {
  client: { getSchema: () => Promise.reject(new Error('no registry')) },
})
const withRules = (id: string, rules: NonNullable<Destination['rules']>) =>
  aDestination({ id, rules, hashKey: 'a-hash-key-of-this-test' })

const recordOf = (event: Event, owned = () => true) => ({ value: event, partition: 2, offset: 7, owned })

const unlimited: Slices = { isSpent: () => false, next: async () => undefined }

/** Slices of one destination each. */
function shortSlices(): Slices & { count: () => number } {
  let count = 1
  let isSpent = true
  return {
    isSpent: () => {
      isSpent = !isSpent
      return isSpent
    },
    next: async () => {
      count += 1
      isSpent = true
    },
    count: () => count,
  }
}

type Asked = {
  plain?: Destination[]
  ruled: Destination[]
  slices?: Slices
  outcomes?: Produced[]
  owned?: () => boolean
  queuedBytes?: () => number
}

/** `outcomes`: of the writes, then `acked`. */
async function written(
  event: Event,
  { plain = [], ruled, slices = unlimited, outcomes = [], owned, queuedBytes = () => 0 }: Asked,
) {
  const records: OutRecord[] = []
  const decided: string[] = []
  const end = async (): Promise<Produced> => outcomes.shift() ?? 'acked'
  const parts: DeliveryWriterParts = {
    codec: deliveries,
    producer: {
      produce: (all) => {
        records.push(...all)
        return end()
      },
      produceList: ({ count, record }) => {
        records.push(...Array.from({ length: count }, (_, place) => record(place)))
        return end()
      },
      queuedBytes,
    },
    slices,
    onRuled: ({ id }, { outcome }) => void decided.push(`${id} ${outcome}`),
  }
  const { count, writing } = await writeDeliveries(recordOf(event, owned), { plain, ruled }, parts)
  return { records, decided, count, writing }
}

async function deliveryIn({ value }: OutRecord): Promise<Delivery> {
  const read = await deliveries.decode(value as Buffer)
  return read.ok ? read.value : expect.fail('it cannot be decoded')
}

const event = anEvent({ event: 'Paid', properties: '{"card":"4111","total":1}' })

test('each destination gets the result of its rules; destinations whose rules change nothing share one body', async () => {
  const ruled = [
    withRules('passed', { filter: { path: 'event', eq: 'Paid' } }),
    withRules('kept', { filter: { path: 'event', eq: 'Left' } }),
    withRules('out', { sample: { rate: 0 } }),
    withRules('shaped', { shape: { total: '{{properties.total}}' } }),
  ]
  const { records, decided, count } = await written(event, { plain: [aDestination({ id: 'plain' })], ruled })
  expect(count).toBe(3)
  expect(decided).toEqual(['passed sent', 'kept filtered', 'out sampled_out', 'shaped sent'])
  expect(records.map(({ topic, key }) => `${topic} ${key}`)).toEqual([
    'deliveries plain/u1',
    'deliveries passed/u1',
    'deliveries shaped/u1',
  ])
  const [plain, passed, shaped] = await Promise.all(records.map(deliveryIn))
  expect(passed?.body).toBe(plain?.body)
  expect(shaped?.body).toBe('{"total":1}')
})

test('if rules fail, a dead letter names the event, and there is no delivery', async () => {
  const shape = Array.from({ length: 20 }, () => '{{properties.text}}')
  const large = anEvent({ properties: JSON.stringify({ text: 'x'.repeat(20_000) }) })
  const { records, decided, count } = await written(large, { ruled: [withRules('failing', { shape })] })
  expect([count, decided]).toEqual([0, ['failing failed']])
  expect(records).toMatchObject([
    { topic: 'deliveries.dead', headers: { reason: 'rules_failed', code: 'too_large', event: '2/7' } },
  ])
  expect(eventPlaceIn(records[0]?.headers)).toEqual({ partition: 2, offset: 7 })
  expect(rulesCodeIn(records[0]?.headers ?? {})).toBe('too_large')
  expect(rulesCodeIn({ reason: 'rejected', code: 'too_large' })).toBeNull()
  expect(await deliveryIn(records[0] as OutRecord)).toMatchObject({ deadReason: 'rules_failed' })
})

test.each([undefined, '', '1', '1/', '/1', '-1/2', '1/x', '1/2/3', '9999999999/1'])(
  'a header %s names no event',
  (text) => expect(eventPlaceIn(text === undefined ? undefined : { event: text })).toBeUndefined(),
)

test('an event that passes no rules is settled without a delivery', async () => {
  const { records, writing } = await written(event, { ruled: [withRules('out', { sample: { rate: 0 } })] })
  expect(records).toEqual([])
  expect(await writing).toBe('acked')
})

test.each<[Produced[], Produced]>([
  [['acked', 'acked'], 'acked'],
  [['too_large', 'acked'], 'too_large'],
  [['acked', 'refused'], 'refused'],
  [['refused', 'unknown'], 'unknown'],
])('writes that end as %s end the event as %s', async (outcomes, outcome) => {
  const ruled = [withRules('shaped', { shape: { a: 1 } })]
  const { writing } = await written(event, { plain: [aDestination({ id: 'plain' })], ruled, outcomes })
  expect(await writing).toBe(outcome)
})

test('after 4 MB of bodies for one event the slice ends', async () => {
  const shape = Array.from({ length: 8 }, () => '{{properties.text}}')
  const large = anEvent({ properties: JSON.stringify({ text: 'x'.repeat(20_000) }) })
  const ruled = Array.from({ length: 60 }, (_, nth) => withRules(`d${nth}`, { shape }))
  let waits = 0
  const slices = { ...unlimited, next: async () => void waits++ }
  const { records, count } = await written(large, { ruled, slices })
  expect([count, records.length, waits]).toEqual([60, 60, 2])
  const bodies = new Set((await Promise.all(records.map(deliveryIn))).map(({ body }) => body))
  expect(bodies.size).toBe(1)
})

describe('rules that take more than a slice', () => {
  const large = anEvent({ event: 'Paid', properties: JSON.stringify({ text: 'x'.repeat(25_000) }) })
  const shape = { text: '{{properties.text}}' }
  const each = Array.from({ length: 3 }, (_, nth) => withRules(`d${nth}`, { shape }))
  const passing = withRules('passed', { filter: { path: 'event', eq: 'Paid' } })

  test('continue in the next ones, and write what each slice has made', async () => {
    const slices = shortSlices()
    const ruled = [passing, ...each]
    const { records, count } = await written(large, { plain: [aDestination({ id: 'plain' })], ruled, slices })
    expect([count, slices.count()]).toEqual([5, 4])
    expect(records.map(({ key }) => key)).toEqual(['plain/u1', 'passed/u1', 'd0/u1', 'd1/u1', 'd2/u1'])
    const [plain, passed] = await Promise.all(records.slice(0, 2).map(deliveryIn))
    expect(passed?.body).toBe(plain?.body)
  })

  test('wait if another event has used up this turn, while destinations without rules get theirs', async () => {
    let isSpent = true
    const begin = Promise.withResolvers<void>()
    const slices = { isSpent: () => isSpent, next: () => begin.promise }
    const records: string[] = []
    const produce: DeliveryWriterParts['producer']['produce'] = async (all) => {
      records.push(...all.map(({ key }) => String(key)))
      return 'acked'
    }
    const producer = { produce, produceList: () => expect.fail('one record at a time'), queuedBytes: () => 0 }
    const parts = { codec: deliveries, producer, slices, onRuled: () => undefined }
    const matched = { plain: [aDestination({ id: 'plain' })], ruled: each }
    const writing = writeDeliveries(recordOf(large), matched, parts)
    expect(records).toEqual(['plain/u1'])
    isSpent = false
    begin.resolve()
    expect((await writing).count).toBe(4)
    expect(records).toEqual(['plain/u1', 'd0/u1', 'd1/u1', 'd2/u1'])
  })

  test('continue for the other destinations if Kafka refuses a delivery', async () => {
    const outcomes: Produced[] = ['too_large']
    const { records, writing } = await written(large, { ruled: each, slices: shortSlices(), outcomes })
    expect(records).toHaveLength(3)
    expect(await writing).toBe('too_large')
  })

  test.each([
    ['the partition is given up: its next owner routes the event', 0, 2],
    ['the partition is given up while much waits for Kafka', 17 * 1024 * 1024, 1],
  ])('stop if %s', async (_, queued, count) => {
    const owned = [true, false]
    const { records, writing } = await written(large, {
      ruled: each,
      slices: shortSlices(),
      owned: () => owned.shift() ?? false,
      queuedBytes: () => queued,
    })
    expect(records).toHaveLength(count)
    expect(await writing).toBe('unknown')
  })

  test('stop if what they have made cannot be written', async () => {
    const { records, writing } = await written(large, {
      ruled: each,
      slices: shortSlices(),
      outcomes: ['acked', 'unknown'],
    })
    expect(records).toHaveLength(2)
    expect(await writing).toBe('unknown')
  })
})

test('an event with rules is not held in memory while it waits for Kafka', async () => {
  const waiting = new Promise<Produced>(() => undefined)
  const ruled = [withRules('shaped', { shape: { total: '{{properties.total}}' } })]
  const parts: DeliveryWriterParts = {
    codec: deliveries,
    producer: { produce: () => waiting, produceList: () => waiting, queuedBytes: () => 0 },
    slices: unlimited,
    onRuled: () => undefined,
  }
  const held: unknown[] = []
  function write(): WeakRef<Event> {
    const record: Pick<ConsumerRecord<Event>, 'value' | 'partition' | 'offset' | 'owned'> = recordOf(
      anEvent(),
    )
    held.push(writeDeliveries(record, { plain: [], ruled }, parts))
    return new WeakRef(record.value)
  }
  const first = write()
  // rules remember the latest event
  write()
  await until(() => {
    collectGarbage()
    return first.deref() === undefined
  })
  expect(held).toHaveLength(2)
})
