import { afterEach, expect, test, vi } from 'vitest'
import { type Facts, makeOfDelivery, makeOfEvent } from '../../../control/tasks/replays/make.ts'
import { type Replaying, replayHandler } from '../../../control/tasks/replays/records.ts'
import type { ConsumerRecord } from '../../../kafka/consume/record.ts'
import { createTokenBucket } from '../../../process/token-bucket.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Replay } from '../../../schemas/task.ts'
import { bySteps, setClock } from '../../helpers/clock.ts'
import { aDestination, anEvent } from '../../helpers/events.ts'
import { aDeadOne } from '../dead-in-memory.ts'

const replay: Replay = {
  kind: 'replay',
  id: 'r1',
  createdAt: '2026-01-02T00:00:00.000Z',
  state: 'accepted',
  destinationId: 'crm',
  what: 'dead',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  perSecond: 500,
  ranges: [{ partition: 1, from: 10, to: 20 }],
  read: 0,
  replayed: 0,
  parked: 0,
}
const within = Date.parse(replay.from)

type Given = {
  key?: string
  offset?: number
  partition?: number
  timestamp?: number
  dead?: Partial<Delivery>
}

const settingsOf = (some: Partial<Facts['settings']> = {}): Facts['settings'] => ({
  destinations: new Map(),
  suppressions: new Map(),
  suppressedUsers: () => undefined,
  hasUnreadRules: () => false,
  ...some,
})

function maker(more: Partial<Replay> = {}, replays: ReadonlyMap<string, Replay> = new Map()) {
  const settings = settingsOf({ suppressedUsers: () => new Set(['hidden']) })
  const eventAt = async () => undefined
  const make = makeOfDelivery({ ...replay, ...more }, { settings, replays, eventAt })
  return ({ dead, ...where }: Given = {}) => {
    const record = { key: 'crm/u1', partition: 1, offset: 10, timestamp: within, value: aDeadOne(dead) }
    const made = make({ ...record, ...where })
    return made && 'later' in made ? expect.fail('it was to be made at once') : made
  }
}

const make = (more: Partial<Replay>, record?: Given) => maker(more)(record)

test('a dead letter in the time range with the reason becomes a delivery without attempts', () => {
  expect(make({ reason: 'attempts_exhausted' })).toMatchObject({
    key: 'crm/u1',
    delivery: { attempt: 0, history: [], deadReason: null, replay: true },
  })
})

test('a replayed delivery has no time of acceptance: how long it waited for the replay is no latency', () => {
  expect(make({}, { dead: { acceptedAt: within } })?.delivery.acceptedAt).toBeNull()
  const settings = settingsOf({ destinations: new Map([['crm', aDestination()]]) })
  const record = { key: 'u1', partition: 1, offset: 10, timestamp: within, value: anEvent() }
  const made = makeOfEvent({ ...replay, what: 'events' }, { settings })(record)
  expect(made).toMatchObject({ delivery: { replay: true, acceptedAt: null } })
})

test.each([
  ['of another time', {}, { timestamp: Date.parse(replay.to) }],
  ['that died of something else', { reason: 'refused' }, {}],
  ['of another destination', {}, { dead: { destinationId: 'erp' } }],
])('one %s is passed over', (_, more, record) => {
  expect(make(more, record)).toBeUndefined()
})

test.each([
  ['another event', { event: 'Left' }],
  ['another user', { user: 'u2' }],
  ['another status', { status: '4xx' }],
])('one of %s is passed over', (_, more) => {
  const body = '{"version":1,"type":"track","userId":"u1","event":"Paid"}'
  const same = { event: 'Paid', user: 'u1', status: '5xx' }
  expect(make(same, { dead: { body } })).toBeDefined()
  expect(make({ ...same, ...more }, { dead: { body } })).toBeUndefined()
})

test("a suppressed user's dead letters are passed over, but not their deletion", () => {
  const next = maker()
  const where = { key: 'crm/hidden' }
  expect(next({ ...where, dead: { type: 'track' } })).toBeUndefined()
  expect(next({ ...where, dead: { type: 'delete' } })).toBeDefined()
})

test('a backfill has the events from its beginning on, and before its end', () => {
  const settings = settingsOf({ destinations: new Map([['crm', aDestination()]]) })
  const make = makeOfEvent({ ...replay, what: 'events' }, { settings })
  const record = { key: 'shop/u1', partition: 1, offset: 10, value: anEvent() }
  const end = Date.parse(replay.to)
  const made = [within - 1, within, end - 1, end].map((timestamp) => make({ ...record, timestamp }))
  expect(made.map((each) => each !== undefined)).toEqual([false, true, true, false])
})

test('one that an earlier replay has sent is skipped on request', () => {
  const earlier: Replay = { ...replay, id: 'r0', state: 'done', reason: 'refused' }
  const replays = new Map([earlier, replay].map((each) => [each.id, each]))
  const next = maker({ skipReplayed: true }, replays)
  expect(next({ dead: { deadReason: 'refused' } })).toBeUndefined()
  expect(next({ dead: { deliveryId: 'another' } })).toBeDefined()
  expect(maker({}, replays)({ dead: { deadReason: 'refused' } })).toBeDefined()
})

test('chosen dead letters are replayed whatever their time, and records between them are not', () => {
  const chosen = {
    places: [
      { partition: 1, offset: 10 },
      { partition: 2, offset: 11 },
    ],
  }
  expect(make(chosen, { timestamp: 0 })).toBeDefined()
  expect(make(chosen, { offset: 11 })).toBeUndefined()
  expect(make(chosen, { partition: 2, offset: 10 })).toBeUndefined()
  expect(make(chosen, { partition: 2, offset: 11 })).toBeDefined()
})

test('a delivery that was given up twice is made once, and again if its record had to wait', () => {
  const makeNext = maker()
  expect(makeNext({ offset: 11 })).toBeDefined()
  expect(makeNext({ offset: 14 })).toBeUndefined()
  expect(makeNext({ offset: 11 })).toBeDefined()
  expect(makeNext({ offset: 15, dead: { deliveryId: 'another' } })).toBeDefined()
})

test('dead letters of users whose calls share a messageId, and so their deliveryId, are all made', () => {
  const makeNext = maker()
  expect(makeNext({ offset: 11 })).toBeDefined()
  expect(makeNext({ offset: 14, key: 'crm/u2' })).toBeDefined()
  expect(makeNext({ offset: 15, key: 'crm/u2' })).toBeUndefined()
})

test('a skipped record does not count as the first', () => {
  const makeNext = maker({ reason: 'refused' })
  expect(makeNext({ offset: 11 })).toBeUndefined()
  expect(makeNext({ offset: 14, dead: { deadReason: 'refused' } })).toBeDefined()
})

afterEach(() => void vi.useRealTimers())

const A_RECORD: ConsumerRecord<Delivery> = {
  topic: 'deliveries.dead',
  partition: 1,
  offset: 10,
  timestamp: within,
  key: 'crm/u1',
  value: aDeadOne(),
  settle: () => undefined,
  owned: () => true,
  release: () => undefined,
  park: () => undefined,
}
const A_MESSAGE = { key: null, value: null, timestamp: '0', attributes: 0, offset: '10', headers: {} }

/** One record a second. */
const handlerWith = (producer: Replaying<Delivery>['producer']) =>
  replayHandler<Delivery>({
    ranges: replay.ranges,
    rate: createTokenBucket({ perSecond: 1, burst: 1 }),
    slices: { isSpent: () => false },
    make: ({ key, value }) => ({ key, delivery: value }),
    counts: { read: 0, replayed: 0, parked: 0 },
    producer,
    encode: () => Buffer.alloc(0),
  })

bySteps('a wall clock that is set %s does not change the rate of a replay', ([, byMs]) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const produced: unknown[] = []
  const handle = handlerWith({
    produce: async (records) => {
      produced.push(...records)
      return 'acked'
    },
    queuedBytes: () => 0,
  })
  expect(handle(A_RECORD, A_MESSAGE)).toBeUndefined()
  setClock(byMs)
  expect(handle(A_RECORD, A_MESSAGE)).toMatchObject({ holdUntil: expect.any(Number) })
  vi.advanceTimersByTime(1_000)
  expect(handle(A_RECORD, A_MESSAGE)).toBeUndefined()
  expect(produced).toHaveLength(2)
})

test('a replay waits while much waits for Kafka, and does not park what finds no room there', async () => {
  let queued = 64 * 1024 * 1024
  const ends: string[] = []
  const handle = handlerWith({
    produce: async () => (queued > 0 ? 'full' : 'acked'),
    queuedBytes: () => queued,
  })
  const taken = { ...A_RECORD, settle: () => void ends.push('settled'), park: () => void ends.push('parked') }
  expect(handle(taken, A_MESSAGE)).toMatchObject({ holdUntil: expect.any(Number) })
  queued = 0
  expect(handle(taken, A_MESSAGE)).toBeUndefined()
  await vi.waitFor(() => expect(ends).toEqual(['settled']))
})

/** Makes nothing, and lists the offsets that it got. */
function offsetHandler(slices: { isSpent(): boolean }) {
  const made: number[] = []
  const handle = replayHandler<Delivery>({
    ranges: replay.ranges,
    rate: createTokenBucket({ perSecond: 1_000, burst: 1_000 }),
    slices,
    make: ({ offset }) => {
      made.push(offset)
      return undefined
    },
    counts: { read: 0, replayed: 0, parked: 0 },
    producer: { produce: async () => 'acked', queuedBytes: () => 0 },
    encode: () => Buffer.alloc(0),
  })
  return { handle, made }
}

test('a replay makes no delivery until the next slice, so that control has time for requests', () => {
  let isSpent = true
  const { handle, made } = offsetHandler({ isSpent: () => isSpent })
  expect(handle(A_RECORD, A_MESSAGE)).toMatchObject({ holdUntil: expect.any(Number) })
  expect(made).toEqual([])
  isSpent = false
  expect(handle(A_RECORD, A_MESSAGE)).toBeUndefined()
  expect(made).toEqual([10])
})

test('a replay reads its range up to the end, and holds what lies behind it', () => {
  const { handle, made } = offsetHandler({ isSpent: () => false })
  expect(handle({ ...A_RECORD, offset: 19 }, A_MESSAGE)).toBeUndefined()
  for (const beyond of [{ offset: 20 }, { partition: 2 }])
    expect(handle({ ...A_RECORD, ...beyond }, A_MESSAGE)).toMatchObject({ holdUntil: expect.any(Number) })
  expect(made).toEqual([19])
})
