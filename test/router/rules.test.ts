import { expect, test } from 'vitest'
import type { Taken } from '../../kafka/consume/record.ts'
import type { Produced } from '../../kafka/produce/pending.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { type DeliveryWriterParts, writeDeliveries } from '../../router/deliveries.ts'
import { codec } from '../../schemas/codec.ts'
import { eventPlaceIn } from '../../schemas/dead-record.ts'
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

const recordOf = (event: Event) => ({ value: event, partition: 2, offset: 7 })

/** What is written for an event. @param outcomes outcomes of the writes, in order; further ones are `acked`. */
function written(
  event: Event,
  { plain = [], ruled }: { plain?: Destination[]; ruled: Destination[] },
  outcomes: Produced[] = [],
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
    },
    onRuled: ({ id }, { outcome }) => void decided.push(`${id} ${outcome}`),
  }
  const { count, writing } = writeDeliveries(recordOf(event), { plain, ruled }, parts)
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
  const { records, decided, count } = written(event, { plain: [aDestination({ id: 'plain' })], ruled })
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
  const { records, decided, count } = written(large, { ruled: [withRules('failing', { shape })] })
  expect([count, decided]).toEqual([0, ['failing failed']])
  expect(records).toMatchObject([
    { topic: 'deliveries.dead', headers: { reason: 'rules_failed', code: 'too_large', event: '2/7' } },
  ])
  expect(eventPlaceIn(records[0]?.headers)).toEqual({ partition: 2, offset: 7 })
  expect(await deliveryIn(records[0] as OutRecord)).toMatchObject({ deadReason: 'rules_failed' })
})

test.each([undefined, '', '1', '1/', '/1', '-1/2', '1/x', '1/2/3', '9999999999/1'])(
  'a header %s names no event',
  (text) => expect(eventPlaceIn(text === undefined ? undefined : { event: text })).toBeUndefined(),
)

test('an event that passes no rules is settled without a delivery', async () => {
  const { records, writing } = written(event, { ruled: [withRules('out', { sample: { rate: 0 } })] })
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
  const { writing } = written(event, { plain: [aDestination({ id: 'plain' })], ruled }, outcomes)
  expect(await writing).toBe(outcome)
})

test('bodies beyond 4 MB for one event are built when sent, and equal the others', async () => {
  const shape = Array.from({ length: 8 }, () => '{{properties.text}}')
  const large = anEvent({ properties: JSON.stringify({ text: 'x'.repeat(20_000) }) })
  const each = Array.from({ length: 60 }, (_, nth) => withRules(`d${nth}`, { shape }))
  const ruled = [...each, withRules('out', { sample: { rate: 0 } })]
  const { records, count } = written(large, { ruled })
  expect([count, records.length]).toEqual([60, 60])
  const bodies = new Set((await Promise.all(records.map(deliveryIn))).map(({ body }) => body))
  expect(bodies.size).toBe(1)
})

test('an event with rules is not held in memory while it waits for Kafka', async () => {
  const waiting = new Promise<Produced>(() => undefined)
  const ruled = [withRules('shaped', { shape: { total: '{{properties.total}}' } })]
  const parts: DeliveryWriterParts = {
    codec: deliveries,
    producer: { produce: () => waiting, produceList: () => waiting },
    onRuled: () => undefined,
  }
  const held: unknown[] = []
  function write(): WeakRef<Event> {
    const record: Pick<Taken<Event>, 'value' | 'partition' | 'offset'> = recordOf(anEvent())
    held.push(writeDeliveries(record, { plain: [], ruled }, parts).writing)
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
