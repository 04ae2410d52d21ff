import { expect, test } from 'vitest'
import type { Attempt, Call } from '../../console/src/api/live.ts'
import {
  attemptsInRow,
  EMPTY_FEED,
  type Feed,
  type FeedEvent,
  latestAttempts,
  newCalls,
  reduceFeed as next,
} from '../../console/src/views/live/feed.ts'

const call = (messageId: string, second: number): Call => ({
  messageId,
  type: 'track',
  userId: 'u1',
  receivedAt: `2026-01-02T03:04:0${second}.000Z`,
  timestamp: `2026-01-02T03:04:0${second}.000Z`,
})

const attempt = (fields: Partial<Attempt> = {}): Attempt => ({
  deliveryId: 'd1',
  messageId: 'm1',
  sourceId: 'shop',
  destinationId: 'crm',
  urlIndex: 0,
  attempt: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMs: 5,
  outcome: 'delivered',
  status: 200,
  code: null,
  response: null,
  urlHash: null,
  ...fields,
})

const received = (feed: Feed, ...events: FeedEvent[]) => next(feed, { type: 'events', events })
const after = (...events: FeedEvent[]): Feed =>
  events.reduce<Feed>((feed, event) => received(feed, event), EMPTY_FEED)
const came = (id: string, second: number): FeedEvent => ({ name: 'call', id, data: call(id, second) })

test('calls are sorted newest first, even if partitions deliver them in another order', () => {
  const { rows } = after(came('m1', 1), came('m3', 3), came('m2', 2))
  expect(rows.map(({ id }) => id)).toEqual(['m3', 'm2', 'm1'])
})

test('a reconnecting stream repeats calls, and none appears twice', () => {
  const attempted: FeedEvent = { name: 'attempt', id: '', data: attempt() }
  const { rows } = after(came('m1', 1), attempted, came('m1', 1), attempted)
  expect(rows).toMatchObject([{ id: 'm1', attempts: [attempt()] }])
})

const missed = (since: string | undefined): FeedEvent => ({
  name: 'missed',
  id: `missed since ${since}`,
  data: { since, until: undefined },
})

test('a gap is shown once, between the last call before it and the first call after it', () => {
  const { at = '' } = after(came('m2', 2)).rows[0] ?? {}
  const { rows } = after(came('m2', 2), came('m1', 1), missed(at), missed(at), came('m3', 3))
  expect(rows.map(({ kind, id }) => (kind === 'missed' ? kind : id))).toEqual(['m3', 'missed', 'm2', 'm1'])
})

test('a gap before all calls is at the end', () => {
  const { rows } = after(missed(undefined), came('m2', 2))
  expect(rows.map(({ kind }) => kind)).toEqual(['call', 'missed'])
})

test('an attempt is added to its call', () => {
  const { rows } = after(came('m1', 1), came('m2', 2), { name: 'attempt', id: '', data: attempt() })
  expect(rows.map((row) => row.kind === 'call' && row.attempts.length)).toEqual([0, 1])
})

test('the feed keeps two hundred calls', () => {
  const many = Array.from({ length: 250 }, (_, index) => came(`m${index}`, 1))
  expect(after(...many).rows).toHaveLength(200)
  expect(received(EMPTY_FEED, ...many).rows).toEqual(after(...many).rows)
})

test('skipped calls are counted, and the feed knows when the initial calls are complete', () => {
  const skipped: FeedEvent = { name: 'skipped', id: '', data: { count: 7, reason: 'rate' } }
  expect(after(skipped, skipped, { name: 'ready', id: '', data: {} })).toMatchObject({
    skipped: 14,
    isReady: true,
  })
})

test('the latest attempt per destination counts; of parallel attempts the delivered one wins; the order is fixed', () => {
  const first = attempt({ outcome: 'retry', status: 503 })
  const second = attempt({ attempt: 2, urlIndex: 0 })
  const other = attempt({ attempt: 2, urlIndex: 1, outcome: 'retry', status: 500 })
  const elsewhere = attempt({ destinationId: 'billing', outcome: 'retry' })
  expect(latestAttempts([first, second, other, elsewhere])).toEqual([elsewhere, second])
})

test('of two parallel attempts, the delivered one wins, whichever began or came first', () => {
  const delivered = attempt({ startedAt: '2026-01-02T03:04:00.000Z' })
  const failed = attempt({
    urlIndex: 1,
    outcome: 'retry',
    status: 503,
    startedAt: '2026-01-02T03:04:00.001Z',
  })
  expect(latestAttempts([failed, delivered])).toEqual([delivered])
  expect(latestAttempts([delivered, failed])).toEqual([delivered])
})

test('a row shows at most eight destinations, first those that have not received the event', () => {
  const many = Array.from({ length: 12 }, (_, index) => attempt({ destinationId: `d${index + 10}` }))
  const failed = attempt({ destinationId: 'd99', outcome: 'retry', status: 503 })
  const { shown, others } = attemptsInRow([...many, failed])
  const ids = ['d99', 'd10', 'd11', 'd12', 'd13', 'd14', 'd15', 'd16']
  expect(shown.map(({ destinationId }) => destinationId)).toEqual(ids)
  expect(others).toBe(5)
  expect(attemptsInRow([...many.slice(0, 7), failed])).toMatchObject({ shown: { length: 8 }, others: 0 })
})

test('an attempt of a replay is later than all attempts before it, although its number is lower', () => {
  const before = attempt({ attempt: 9, outcome: 'retry', status: 503 })
  const replayed = attempt({ attempt: 1, startedAt: '2026-01-02T04:00:00.000Z' })
  expect(latestAttempts([before, replayed])).toEqual([replayed])
})

test('an opened call stays when the feed is full', () => {
  const opened = next(after(came('m1', 1)), { type: 'toggle', id: 'm1' })
  const many = Array.from({ length: 250 }, (_, index) => came(`later${index}`, 2))
  const full = received(opened, ...many)
  expect([full.rows.length, full.rows.at(-1)?.id]).toEqual([201, 'm1'])
  const closed = received(next(full, { type: 'toggle', id: 'm1' }), came('last', 3))
  expect(closed.rows.map(({ id }) => id)).not.toContain('m1')
})

test('while paused nothing changes; resuming shows what arrived', () => {
  const paused = next(after(came('m1', 1)), { type: 'pause' })
  const attempted: FeedEvent = { name: 'attempt', id: '', data: attempt({ messageId: 'm2' }) }
  const later = received(paused, came('m2', 2), attempted)
  expect(later.rows).toBe(paused.rows)
  expect(later.waiting).toHaveLength(2)
  const on = next(later, { type: 'pause' })
  expect(on).toMatchObject({ waiting: undefined, rows: [{ id: 'm2', attempts: [{}] }, { id: 'm1' }] })
})

test('while paused, calls that a reconnected stream repeats are not new', () => {
  const paused = next(after(came('m1', 1)), { type: 'pause' })
  expect(newCalls(paused)).toBe(0)
  expect(newCalls(received(paused, came('m1', 1), came('m2', 2), came('m1', 1), came('m2', 2)))).toBe(1)
})

test('a row without changes stays the same object, so that it is not rendered again', () => {
  const before = after(came('m1', 1), came('m2', 2))
  const { rows } = received(before, { name: 'attempt', id: '', data: attempt({ messageId: 'm2' }) })
  expect(rows[1]).toBe(before.rows[1])
  expect(rows[0]).not.toBe(before.rows[0])
})
