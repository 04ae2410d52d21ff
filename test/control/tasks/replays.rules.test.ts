import { describe, expect, test } from 'vitest'
import { type EventAt, eventReader } from '../../../control/tasks/replays/event-reader.ts'
import { type Facts, makeOfDelivery, makeOfEvent } from '../../../control/tasks/replays/make.ts'
import { type Made, replayHandler, type Unmade } from '../../../control/tasks/replays/records.ts'
import { suppressedKeys } from '../../../control/tasks/replays/suppressed.ts'
import { applyRules } from '../../../delivery/routing/apply-rules.ts'
import type { ConsumerRecord, Decoded } from '../../../kafka/consume/record.ts'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import { createSlices } from '../../../process/slices.ts'
import { createTokenBucket } from '../../../process/token-bucket.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Destination } from '../../../settings/settings.ts'
import { aDestination, anEvent } from '../../helpers/events.ts'
import { until } from '../../helpers/until.ts'
import { aDeadOne } from '../dead-in-memory.ts'
import { aReplay } from '../tasks-in-memory.ts'

type Rules = NonNullable<Destination['rules']>

const event = anEvent({ event: 'Paid', properties: '{"total":1}' })
const replay = aReplay({
  ranges: [{ partition: 1, from: 10, to: 20 }],
  destinationId: 'crm',
  from: '2020-01-01T00:00:00.000Z',
  to: '2030-01-01T00:00:00.000Z',
})
const timestamp = Date.parse('2026-01-02T00:00:00.000Z')

const settingsOf = (rules: Rules, some: Partial<Facts['settings']> = {}): Facts['settings'] => ({
  destinations: new Map([['crm', aDestination({ rules, hashKey: 'a-hash-key-of-this-test' })]]),
  suppressions: new Map(),
  suppressedUsers: () => undefined,
  hasUnreadRules: () => false,
  ...some,
})

const failed = aDeadOne({ deadReason: 'rules_failed', messageId: 'm1', sourceId: 'shop', type: 'track' })
const headers = { event: '2/7' }

async function remade(
  rules: Rules,
  {
    eventAt,
    some = {},
    found = headers as object,
  }: { eventAt?: EventAt; some?: Partial<Facts['settings']>; found?: object } = {},
) {
  const asked: unknown[] = []
  const make = makeOfDelivery(replay, {
    settings: settingsOf(rules, some),
    replays: new Map(),
    eventAt:
      eventAt ??
      (async (place) => {
        asked.push(place)
        return event
      }),
  })
  const made = make({ key: 'crm/u1', partition: 1, offset: 10, timestamp, value: failed }, found as never)
  const result = made && 'later' in made ? await made.later(() => true) : expect.fail('it needs its event')
  return { result, asked }
}

test("if rules failed, a replay runs today's rules on the event", async () => {
  const { result, asked } = await remade({ shape: { total: '{{properties.total}}' } })
  expect(asked).toEqual([{ partition: 2, offset: 7 }])
  expect(result).toMatchObject({
    key: 'crm/u1',
    delivery: { body: '{"total":1}', replay: true, acceptedAt: null, deadReason: null },
  })
})

test("it is skipped if today's rules do not let the event pass, or its user is suppressed", async () => {
  expect((await remade({ filter: { path: 'event', eq: 'Left' } })).result).toBeUndefined()
  const some = { suppressedUsers: () => new Set(['u1']) }
  const make = makeOfDelivery(replay, {
    settings: settingsOf({}, some),
    replays: new Map(),
    eventAt: async () => event,
  })
  const record = { key: 'crm/', partition: 1, offset: 10, timestamp, value: failed }
  const made = make(record, headers as never)
  if (!made || !('later' in made)) expect.fail('it needs its event')
  expect(await made.later(() => true)).toBeUndefined()
  expect((await remade({}, { some: { suppressedUsers: () => new Set(['other']) } })).result).toBeDefined()
})

test('it fails visibly if the event is gone, or the rules cannot be read', async () => {
  const gone = { unmade: 'its event is no longer stored' }
  expect((await remade({}, { eventAt: async () => undefined })).result).toEqual(gone)
  expect((await remade({}, { eventAt: async () => anEvent({ messageId: 'another' }) })).result).toEqual(gone)
  expect((await remade({}, { eventAt: async () => anEvent({ sourceId: 'another' }) })).result).toEqual(gone)
  expect((await remade({}, { found: {} })).result).toEqual(gone)
  const unread = await remade({}, { some: { hasUnreadRules: () => true } })
  expect(unread.result).toEqual({ unmade: 'the rules of the destination cannot be read' })
})

test("a backfill applies today's rules, and writes a dead letter if they fail", () => {
  const make = (rules: Rules, some = {}) =>
    makeOfEvent(
      { ...replay, what: 'events' },
      { settings: settingsOf(rules, some) },
    )({
      key: 'shop/u1',
      partition: 3,
      offset: 9,
      timestamp,
      value: anEvent({ properties: JSON.stringify({ text: 'x'.repeat(20_000) }) }),
    })
  expect(make({ filter: { path: 'type', eq: 'page' } })).toBeUndefined()
  expect(make({ shape: { id: '{{messageId}}' } })).toMatchObject({
    delivery: { body: '{"id":"m1"}', replay: true },
  })
  expect(make({ shape: Array.from({ length: 20 }, () => '{{properties.text}}') })).toMatchObject({
    delivery: { deadReason: 'rules_failed', replay: true },
    failed: { code: 'too_large', event: { partition: 3, offset: 9 } },
  })
  expect(make({}, { hasUnreadRules: () => true })).toHaveProperty('unmade')
})

test('a suppressed user is recognized in a hashed key, even if suppressed meanwhile', () => {
  const rules: Rules = { redact: [{ path: 'userId', as: 'drop' }] }
  const suppression = (userId: string, sourceId: string) => ({
    id: userId,
    sourceId,
    userId,
    version: 1,
    updatedAt: '',
  })
  const suppressions = new Map([['one', suppression('u1', 'shop')]])
  const settings = settingsOf(rules, { suppressions })
  const destination = settings.destinations.get('crm') ?? expect.fail()
  const userIn = (userId: string) => {
    const ruled = applyRules(anEvent({ userId }), destination, 0)
    return 'key' in ruled ? ruled.key.slice('crm/'.length) : ''
  }
  let now = 0
  const isSuppressed = suppressedKeys('crm', settings, () => now)
  expect(isSuppressed({ type: 'track', sourceId: 'shop' }, userIn('u1'))).toBe(true)
  expect(isSuppressed({ type: 'delete', sourceId: 'shop' }, userIn('u1'))).toBe(false)
  expect(isSuppressed({ type: 'track', sourceId: 'app' }, userIn('u1'))).toBe(false)
  expect(isSuppressed({ type: 'track', sourceId: 'shop' }, userIn('u2'))).toBe(false)
  suppressions.set('all', suppression('u3', '*'))
  expect(suppressedKeys('crm', settings)({ type: 'track', sourceId: 'app' }, userIn('u3'))).toBe(true)
  suppressions.delete('all')
  // as many as before
  suppressions.delete('one')
  suppressions.set('two', suppression('u2', 'shop'))
  now = 10_000
  expect(isSuppressed({ type: 'track', sourceId: 'shop' }, userIn('u1'))).toBe(false)
  expect(isSuppressed({ type: 'track', sourceId: 'shop' }, userIn('u2'))).toBe(true)
  const rotated = aDestination({ rules, hashKey: 'another-key-of-this-test' })
  settings.destinations = new Map([['crm', rotated]])
  const rekeyed = applyRules(anEvent({ userId: 'u2' }), rotated, 0)
  const user = 'key' in rekeyed ? rekeyed.key.slice('crm/'.length) : ''
  expect(isSuppressed({ type: 'track', sourceId: 'shop' }, user)).toBe(true)
})

test('a replay writes deliveries that it makes later, parks those it cannot make, skips the rest, and releases what it lost', async () => {
  const ends: string[] = []
  const produced: OutRecord[] = []
  const counts = { read: 0, replayed: 0, parked: 0 }
  const delivery = aDeadOne()
  const results: (Made | Unmade | undefined)[] = [
    { key: 'crm/u1', delivery },
    { key: 'crm/u1', delivery, failed: { code: 'too_large', event: { partition: 1, offset: 2 } } },
    { unmade: 'its event is no longer stored' },
    undefined,
  ]
  const handle = replayHandler<Delivery>({
    ranges: [{ partition: 1, from: 10, to: 20 }],
    rate: createTokenBucket({ perSecond: 100, burst: 100 }),
    make: ({ offset }) => ({
      later: async () => (offset === 15 ? expect.fail('its rules failed') : results[offset - 10]),
    }),
    // a busy machine must not end the slice
    slices: createSlices(() => 0),
    counts,
    producer: {
      produce: async (records) => {
        produced.push(...records)
        return 'acked'
      },
      queuedBytes: () => 0,
    },
    encode: () => Buffer.alloc(0),
  })
  const message = { key: null, value: null, timestamp: '0', attributes: 0, offset: '10', headers: {} }
  for (const offset of [10, 11, 12, 13, 14, 15]) {
    const taken: ConsumerRecord<Delivery> = {
      ...{ topic: 'deliveries.dead', partition: 1, offset, timestamp, key: 'crm/u1', value: delivery },
      settle: () => void ends.push(`${offset} settled`),
      owned: () => offset !== 14,
      release: () => void ends.push(`${offset} released`),
      park: (_, reason) => void ends.push(`${offset} ${reason}`),
    }
    expect(handle(taken, message)).toBeUndefined()
  }
  await until(() => ends.length === 6)
  expect(produced.map(({ topic }) => topic)).toEqual(['deliveries.due', 'deliveries.dead'])
  expect(ends.toSorted()).toEqual([
    '10 settled',
    '11 settled',
    '12 it cannot be replayed: its event is no longer stored',
    '13 settled',
    '14 released',
    '15 AssertionError: its rules failed',
  ])
  expect(counts).toMatchObject({ read: 3, replayed: 2 })
})

describe('the event of a dead letter', () => {
  const place = { partition: 2, offset: 7 }
  const owned = () => true

  /** The log ends at `high`. @param decoded results in order, then the event */
  function eventAt({ high = 8, decoded = [] as Decoded<Event>[], fails = 0 } = {}) {
    let failing = fails
    const reads: unknown[] = []
    const reader = {
      bounds: async () => {
        if (failing-- > 0) throw new Error('no broker')
        return new Map([[2, { low: 5, high }]])
      },
      read: async (range: object, onValue: (value: Buffer, ...more: never[]) => void) => {
        reads.push(range)
        onValue(Buffer.alloc(0))
      },
    }
    const decode = () => decoded.shift() ?? { ok: true as const, value: event }
    const read = eventReader({ readerOf: async () => reader as never, event: { decode } }, 1)
    return { read, reads }
  }

  test('is read at its place', async () => {
    const { read, reads } = eventAt()
    expect(await read(place, owned)).toBe(event)
    expect(reads).toEqual([{ partition: 2, from: 7, to: 8 }])
  })

  test('is gone if the log does not reach its place: reading there would wait for ever', async () => {
    const { read, reads } = eventAt({ high: 7 })
    expect(await read(place, owned)).toBeUndefined()
    expect(await read({ partition: 9, offset: 7 }, owned)).toBeUndefined()
    expect(await read({ partition: 2, offset: 4 }, owned)).toBeUndefined()
    expect(reads).toEqual([])
  })

  test('is gone if it cannot be decoded, but not while the registry or Kafka does not answer', async () => {
    const undecoded = (reason: 'undecodable' | 'registry_unreachable') =>
      ({ ok: false, reason, message: '' }) as const
    expect(await eventAt({ decoded: [undecoded('undecodable')] }).read(place, owned)).toBeUndefined()
    const unreachable = eventAt({ decoded: [undecoded('registry_unreachable')], fails: 2 })
    expect(await unreachable.read(place, owned)).toBe(event)
  })

  test('is no longer awaited once the replay has lost the record', async () => {
    let asked = 0
    const { read } = eventAt({ fails: Number.POSITIVE_INFINITY })
    const ownedThrice = () => {
      asked += 1
      return asked < 4
    }
    expect(await read(place, ownedThrice)).toBeUndefined()
  })
})
