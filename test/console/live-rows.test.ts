import { expect, test } from 'vitest'
import type { Attempt, Call } from '../../console/src/api/live.ts'
import { type Live, NOTHING, after as next, type Told, upshots } from '../../console/src/views/live/feed.ts'

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
  ...fields,
})

const told = (live: Live, ...messages: Told[]) => next(live, { did: 'told', messages })
const after = (...messages: Told[]): Live =>
  messages.reduce<Live>((live, message) => told(live, message), NOTHING)
const came = (id: string, second: number): Told => ({ name: 'call', id, data: call(id, second) })

test('calls are shown newest first, also where partitions tell them in another order', () => {
  const { rows } = after(came('m1', 1), came('m3', 3), came('m2', 2))
  expect(rows.map(({ id }) => id)).toEqual(['m3', 'm2', 'm1'])
})

test('a stream that comes again tells the last calls again, and shows none twice', () => {
  const tried: Told = { name: 'attempt', id: '', data: attempt() }
  const { rows } = after(came('m1', 1), tried, came('m1', 1), tried)
  expect(rows).toMatchObject([{ id: 'm1', attempts: [attempt()] }])
})

test('an attempt stands at its call', () => {
  const { rows } = after(came('m1', 1), came('m2', 2), { name: 'attempt', id: '', data: attempt() })
  expect(rows.map((row) => row.kind === 'call' && row.attempts.length)).toEqual([0, 1])
})

test('a page that is open all day holds two hundred calls', () => {
  const many = Array.from({ length: 250 }, (_, index) => came(`m${index}`, 1))
  expect(after(...many).rows).toHaveLength(200)
  expect(told(NOTHING, ...many).rows).toEqual(after(...many).rows)
})

test('what was not shown is counted, and what was there at the beginning is known', () => {
  const skipped: Told = { name: 'skipped', id: '', data: { count: 7, reason: 'rate' } }
  expect(after(skipped, skipped, { name: 'ready', id: '', data: {} })).toMatchObject({
    skipped: 14,
    isReady: true,
  })
})

test('of each destination the last attempt counts, and of several URLs at once the one that took it', () => {
  const first = attempt({ outcome: 'retry', status: 503 })
  const second = attempt({ attempt: 2, urlIndex: 0 })
  const other = attempt({ attempt: 2, urlIndex: 1, outcome: 'retry', status: 500 })
  const elsewhere = attempt({ destinationId: 'billing', outcome: 'retry' })
  expect(upshots([first, second, other, elsewhere])).toEqual([second, elsewhere])
})

test('a call that somebody has opened stays, however much comes', () => {
  const opened = next(after(came('m1', 1)), { did: 'toggle', id: 'm1' })
  const many = Array.from({ length: 250 }, (_, index) => came(`later${index}`, 2))
  const full = told(opened, ...many)
  expect([full.rows.length, full.rows.at(-1)?.id]).toEqual([201, 'm1'])
  const closed = told(next(full, { did: 'toggle', id: 'm1' }), came('last', 3))
  expect(closed.rows.map(({ id }) => id)).not.toContain('m1')
})

test('while it is paused nothing moves, and what came is there when it goes on', () => {
  const paused = next(after(came('m1', 1)), { did: 'pause' })
  const tried: Told = { name: 'attempt', id: '', data: attempt({ messageId: 'm2' }) }
  const later = told(paused, came('m2', 2), tried)
  expect(later.rows).toBe(paused.rows)
  expect(later.waiting).toHaveLength(2)
  const on = next(later, { did: 'pause' })
  expect(on).toMatchObject({ waiting: undefined, rows: [{ id: 'm2', attempts: [{}] }, { id: 'm1' }] })
})

test('a call that nothing was said of is the same object: its row is not drawn anew', () => {
  const before = after(came('m1', 1), came('m2', 2))
  const { rows } = told(before, { name: 'attempt', id: '', data: attempt({ messageId: 'm2' }) })
  expect(rows[1]).toBe(before.rows[1])
  expect(rows[0]).not.toBe(before.rows[0])
})
