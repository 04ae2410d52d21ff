import { expect, test, vi } from 'vitest'
import { deliveryId } from '../../delivery/routing/routing.ts'
import type { ConsumerRecord } from '../../kafka/consume/record.ts'
import type { Produced, RecordList } from '../../kafka/produce/produce.ts'
import { createSlices } from '../../process/slices.ts'
import type { Written } from '../../router/duplicates/seen-topic.ts'
import { createWindow, type Entry } from '../../router/duplicates/window.ts'
import { createRouter, type RouterParts } from '../../router/run.ts'
import { codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { aDestination, anEvent } from '../helpers/events.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { until } from '../helpers/until.ts'

const message = {
  key: null,
  value: null,
  timestamp: '0',
  attributes: 0,
  offset: '7',
  headers: {},
}

const aRecord = (fields: Partial<ConsumerRecord<Event>>): ConsumerRecord<Event> => ({
  topic: 'events',
  partition: 0,
  offset: 7,
  timestamp: 0,
  key: 'shop/u1',
  value: anEvent(),
  settle: () => undefined,
  owned: () => true,
  release: () => undefined,
  park: () => undefined,
  ...fields,
})

const deliveries = codec('delivery', 1, {
  client: { getSchema: () => Promise.reject(new Error('no registry')) },
})

const accepting: RouterParts['producer'] = {
  produce: async () => 'acked',
  produceList: async () => 'acked',
  queuedBytes: () => 0,
}

function aRouter(parts: Partial<RouterParts> = {}) {
  const entries: Entry[] = []
  const handle = createRouter({
    settings: { isFresh: () => true, destinationsOf: () => [], sources: new Map() },
    codec: deliveries,
    producer: accepting,
    duplicates: {
      of: () => ({ admit: (entry) => entries.push(entry) > 0, write: () => async () => 'acked' }),
    },
    slices: createSlices(),
    onBehind: () => undefined,
    onRouted: () => undefined,
    onRuled: () => undefined,
    onDuplicate: () => undefined,
    ...parts,
  })
  return { handle, entries }
}

function rememberedOf(timestamp: number): Entry[] {
  const { handle, entries } = aRouter()
  handle(aRecord({ timestamp }), message)
  return entries
}

test.each<[string, Partial<RouterParts>]>([
  [
    'the settings cannot be followed',
    { settings: { isFresh: () => false, destinationsOf: () => [], sources: new Map() } },
  ],
  ['much waits for Kafka', { producer: { ...accepting, queuedBytes: () => 17 * 1024 * 1024 } }],
  ['the ids of its partition are not loaded', { duplicates: { of: () => undefined } }],
])('while %s an event is held, and neither remembered nor settled', (_what, parts) => {
  const settled: string[] = []
  const { handle, entries } = aRouter(parts)
  const held = handle(aRecord({ settle: () => void settled.push('settled') }), message)
  expect(held).toEqual({ holdUntil: expect.any(Number) })
  expect([entries, settled]).toEqual([[], []])
})

test.each([
  [true, 0],
  [false, 1],
])('that the settings cannot be followed is reported for each held event: %s, %i times', (isFresh, times) => {
  const onBehind = vi.fn()
  const { handle } = aRouter({
    settings: { isFresh: () => isFresh, destinationsOf: () => [], sources: new Map() },
    onBehind,
  })
  handle(aRecord({}), message)
  expect(onBehind).toHaveBeenCalledTimes(times)
})

test.each([
  [
    'is routed if it was put back',
    { 'put-back': 'true' },
    { parked: 1, duplicates: 0, routed: 2, remembered: 1 },
  ],
  ['is a duplicate if a client sent it again', {}, { parked: 1, duplicates: 1, routed: 1, remembered: 0 }],
])('an event that was parked and comes again %s', async (_, headers, expected) => {
  const counts = { parked: 0, duplicates: 0, routed: 0, remembered: 0 }
  const outcomes: Produced[] = ['refused', 'acked']
  const { admit } = createWindow({ windowMs: 3_600_000 })
  const remember = async (): Promise<Written> => {
    counts.remembered++
    return 'acked'
  }
  const { handle } = aRouter({
    settings: { isFresh: () => true, destinationsOf: () => [aDestination()], sources: new Map() },
    producer: { ...accepting, produce: async () => outcomes.shift() ?? 'unknown' },
    duplicates: { of: () => ({ admit, write: () => remember }) },
    onDuplicate: () => void counts.duplicates++,
    onRouted: () => void counts.routed++,
  })
  handle(aRecord({ park: () => void counts.parked++ }), message)
  await new Promise(setImmediate)
  handle(aRecord({ offset: 9 }), { ...message, offset: '9', headers })
  await new Promise(setImmediate)
  expect(counts).toEqual(expected)
})

test('an event that was put back is remembered: the same call, sent again, is a duplicate', () => {
  const counts = { duplicates: 0, routed: 0 }
  const { admit } = createWindow({ windowMs: 3_600_000 })
  const { handle } = aRouter({
    duplicates: { of: () => ({ admit, write: () => async () => 'acked' }) },
    onDuplicate: () => void counts.duplicates++,
    onRouted: () => void counts.routed++,
  })
  handle(aRecord({}), { ...message, headers: { 'put-back': 'true' } })
  handle(aRecord({ offset: 9 }), { ...message, offset: '9' })
  expect(counts).toEqual({ duplicates: 1, routed: 1 })
})

test("an event is remembered with its record's time", () => {
  expect(rememberedOf(5_000)).toMatchObject([{ offset: 7, time: 5_000 }])
})

test('a future time counts as now, as it would make all others too old', () => {
  const [entry] = rememberedOf(Date.now() + 3_600_000)
  expect(entry?.time).toBeLessThanOrEqual(Date.now())
})

test('an event of a source that keeps duplicates skips the window', async () => {
  const source = {
    id: 'shop',
    name: 'Shop',
    writeKey: 'a-write-key',
    enabled: true,
    dedup: 'off' as const,
    version: 1,
    updatedAt: '',
  }
  const settings = {
    isFresh: () => true,
    destinationsOf: () => [aDestination()],
    sources: new Map([['shop', source]]),
  }
  const duplicates = { of: () => ({ admit: () => false, write: () => expect.fail('it was remembered') }) }
  const routed: number[] = []
  const settled: string[] = []
  const { handle } = aRouter({ settings, duplicates, onRouted: (_event, count) => void routed.push(count) })
  handle(aRecord({ settle: () => void settled.push('settled') }), message)
  await until(() => settled.length === 1)
  expect(routed).toEqual([1])
})

test.each<[Written, string]>([
  ['acked', 'settled'],
  ['unwritten', 'settled'],
  ['unknown', 'released'],
])('an event whose deliveries are written and whose id is %s is %s', async (written, end) => {
  const ends: string[] = []
  const duplicates = { of: () => ({ admit: () => true, write: () => async () => written }) }
  const { handle } = aRouter({ duplicates })
  const settle = () => void ends.push('settled')
  handle(aRecord({ settle, release: () => void ends.push('released') }), message)
  await until(() => ends.length > 0)
  expect(ends).toEqual([end])
})

const following = (...ids: string[]) => ({
  isFresh: () => true,
  destinationsOf: () => ids.map((id) => aDestination({ id })),
  sources: new Map(),
})

test("the deliveries of an event share its body and its source's flow, and have different ids", async () => {
  const written: { list: RecordList; flow: string | undefined }[] = []
  const { handle } = aRouter({
    settings: following('crm', 'warehouse'),
    producer: {
      ...accepting,
      async produceList(list, { flow } = {}) {
        written.push({ list, flow })
        return 'acked'
      },
    },
  })
  handle(aRecord({ value: anEvent({ properties: '{"a":"é"}' }) }), message)
  const [{ list, flow } = {}] = written
  expect([list?.count, flow]).toEqual([2, 'shop'])
  const records = [0, 1].map((place) => list?.record(place))
  expect(records).toMatchObject([
    { topic: 'deliveries', key: 'crm/u1' },
    { topic: 'deliveries', key: 'warehouse/u1' },
  ])
  const read = await Promise.all(records.map((record) => deliveries.decode(record?.value as Buffer)))
  const [first, second] = read.map((one) => (one.ok ? one.value : undefined))
  expect(first).toMatchObject({ deliveryId: deliveryId('crm', anEvent()), destinationId: 'crm', attempt: 0 })
  expect(second?.acceptedAt).toBe(anEvent().receivedAt)
  expect(second).toEqual({
    ...first,
    deliveryId: deliveryId('warehouse', anEvent()),
    destinationId: 'warehouse',
  })
  expect(JSON.parse(first?.body ?? '')).toMatchObject({ properties: { a: 'é' } })
})

test.each([
  ['one destination', ['crm']],
  ['two destinations', ['crm', 'warehouse']],
])(
  'an event for %s is not held in memory while it waits for Kafka: thousands wait at a time',
  async (_, ids) => {
    const settled: string[] = []
    const ack = Promise.withResolvers<'acked'>()
    const waiting: unknown[] = []
    const wait = (records: unknown) => {
      waiting.push(records)
      return ack.promise
    }
    const { handle } = aRouter({
      settings: following(...ids),
      producer: { ...accepting, produce: wait, produceList: wait },
    })
    function take(): WeakRef<Event> {
      const record = aRecord({ settle: () => void settled.push('settled') })
      handle(record, message)
      return new WeakRef(record.value)
    }
    const event = take()
    await until(() => {
      collectGarbage()
      return event.deref() === undefined
    })
    expect([waiting.length, settled]).toEqual([1, []])
    ack.resolve('acked')
    await until(() => settled.length === 1)
  },
)

const shaped = (id: string) =>
  aDestination({ id, rules: { shape: { id: '{{messageId}}' } }, hashKey: 'a-hash-key-of-this-test' })

test('while the rules of an event take more than a slice, its source waits and other sources do not', async () => {
  const written: string[] = []
  const settled: string[] = []
  const begin = Promise.withResolvers<void>()
  let isSpent = true
  const { handle } = aRouter({
    slices: { isSpent: () => isSpent, next: () => begin.promise },
    settings: {
      isFresh: () => true,
      destinationsOf: (sourceId) => (sourceId === 'shop' ? [shaped('crm')] : [aDestination({ id: 'plain' })]),
      sources: new Map(),
    },
    producer: {
      ...accepting,
      async produce(all) {
        const read = await Promise.all(all.map(({ value }) => deliveries.decode(value as Buffer)))
        written.push(...read.map((one) => (one.ok ? one.value.messageId : '')))
        return 'acked'
      },
    },
  })
  for (const [messageId, sourceId] of [
    ['m1', 'shop'],
    ['m2', 'shop'],
    ['m3', 'app'],
  ] as const)
    handle(
      aRecord({ value: anEvent({ messageId, sourceId }), settle: () => void settled.push(messageId) }),
      message,
    )
  await until(() => settled.length === 1)
  expect([written, settled]).toEqual([['m3'], ['m3']])
  isSpent = false
  begin.resolve()
  await until(() => settled.length === 3)
  expect([written, settled]).toEqual([
    ['m3', 'm1', 'm2'],
    ['m3', 'm1', 'm2'],
  ])
})

test('while much waits for Kafka, events whose rules take more than a slice wait too', async () => {
  const bytes = 4 * 1024 * 1024
  const acks: ((outcome: Produced) => void)[] = []
  const begin = Promise.withResolvers<void>()
  let [isSpent, most, settled] = [true, 0, 0]
  const { next } = createSlices()
  const { handle } = aRouter({
    slices: { isSpent: () => isSpent, next: () => begin.promise.then(next) },
    settings: { isFresh: () => true, destinationsOf: () => [shaped('crm')], sources: new Map() },
    producer: {
      ...accepting,
      produce: () => new Promise((resolve) => void acks.push(resolve)),
      queuedBytes: () => acks.length * bytes,
    },
  })
  const settle = () => void settled++
  // the second event of a source waits for the first
  for (const sourceId of Array.from({ length: 10 }, (_, index) => `s${index}`))
    for (const messageId of ['m1', 'm2'])
      handle(aRecord({ value: anEvent({ messageId, sourceId }), settle }), message)
  isSpent = false
  begin.resolve()
  await until(() => {
    most = Math.max(most, acks.length)
    acks.shift()?.('acked')
    return settled === 20
  })
  expect(most).toBe(5)
})

test('an event that waited is parked if it cannot be routed, and the next one is routed', async () => {
  const ends: string[] = []
  const begin = Promise.withResolvers<void>()
  let isSpent = true
  let asked = 0
  function destinationsOf() {
    asked += 1
    if (asked === 2) throw new Error('a bug')
    return [shaped('crm')]
  }
  const { handle } = aRouter({
    slices: { isSpent: () => isSpent, next: () => begin.promise },
    settings: { isFresh: () => true, destinationsOf, sources: new Map() },
  })
  for (const messageId of ['m1', 'm2', 'm3'])
    handle(
      aRecord({
        value: anEvent({ messageId }),
        settle: () => void ends.push(`${messageId} settled`),
        park: (_message, reason) => void ends.push(`${messageId} parked: ${reason}`),
      }),
      message,
    )
  isSpent = false
  begin.resolve()
  await until(() => ends.length === 3)
  expect(ends.sort()).toEqual(['m1 settled', 'm2 parked: Error: a bug', 'm3 settled'])
})

test('an event is parked if an error stops its routing after the first slice', async () => {
  const parked: string[] = []
  const { handle } = aRouter({
    slices: { isSpent: () => true, next: () => Promise.reject(new Error('a bug')) },
    settings: { isFresh: () => true, destinationsOf: () => [shaped('crm')], sources: new Map() },
  })
  handle(aRecord({ park: (_message, reason) => void parked.push(reason) }), message)
  await until(() => parked.length > 0)
  expect(parked).toEqual(['Error: a bug'])
})
