import { describe, expect, test } from 'vitest'
import { createRecentAttempts } from '../../../control/activity/attempts.ts'
import { afterwards } from '../../../control/activity/dead/routes.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { api, VIEW } from '../api.ts'
import { anAttempt, attemptsHeld } from '../attempts-in-memory.ts'

const minute = (minutes: number) => Date.parse('2026-01-02T03:00:00.000Z') + minutes * 60_000

const ask = (attempts: Partial<Attempt>[], query = '', token?: string) =>
  api({}, attemptsHeld(attempts.map(anAttempt))).ask({
    url: `/api/attempts${query}`,
    ...(token && { token }),
  })

const ids = (answer: Awaited<ReturnType<typeof ask>>) =>
  answer.json.items.map(({ deliveryId }: Attempt) => deliveryId)

test('an attempt has all fields of its record, times in ISO 8601', async () => {
  const { status, json } = await ask([{ outcome: 'retry', status: 503, code: 'http_5xx', response: 'no' }])
  expect([status, json]).toEqual([
    200,
    {
      items: [
        {
          deliveryId: 'd1',
          messageId: 'm1',
          sourceId: 'shop',
          destinationId: 'crm',
          urlIndex: 0,
          attempt: 1,
          startedAt: '2026-01-02T03:04:05.678Z',
          durationMs: 12,
          outcome: 'retry',
          status: 503,
          code: 'http_5xx',
          response: 'no',
          urlHash: null,
        },
      ],
      next: null,
      oldest: '2026-01-02T03:04:05.678Z',
    },
  ])
})

test('newest first, in pages', async () => {
  const all = [1, 3, 2].map((minutes) => ({ deliveryId: `d${minutes}`, startedAt: minute(minutes) }))
  const first = await ask(all, '?limit=2')
  expect(ids(first)).toEqual(['d3', 'd2'])
  const second = await ask(all, `?limit=2&cursor=${first.json.next}`)
  expect([ids(second), second.json.next]).toEqual([['d1'], null])
})

test('without attempts, oldest is null', async () => {
  expect((await ask([])).json).toEqual({ items: [], next: null, oldest: null })
})

test('a view token may read them', async () => {
  expect((await ask([{}], '', VIEW)).status).toBe(200)
})

test('a time beyond the range of dates, which only other writers produce, is null', async () => {
  expect((await ask([{ startedAt: 9e15 }])).json).toMatchObject({
    items: [{ startedAt: null }],
    oldest: null,
  })
})

describe('filters', () => {
  const all: Partial<Attempt>[] = [
    { deliveryId: 'a', destinationId: 'crm', sourceId: 'shop', outcome: 'retry', startedAt: minute(1) },
    { deliveryId: 'b', destinationId: 'erp', sourceId: 'shop', messageId: 'm2', startedAt: minute(2) },
    { deliveryId: 'c', destinationId: 'crm', sourceId: 'blog', startedAt: minute(3) },
  ]
  test.each([
    ['?destinationId=crm', ['c', 'a']],
    ['?sourceId=shop', ['b', 'a']],
    ['?outcome=retry', ['a']],
    ['?deliveryId=b', ['b']],
    ['?messageId=m2', ['b']],
    ['?since=2026-01-02T03:02:00Z', ['c', 'b']],
    ['?until=2026-01-02T03:02:00.000Z', ['a']],
    ['?since=2026-01-02T04:01:00%2B01:00&until=2026-01-02T03:03:00Z', ['b', 'a']],
    ['?destinationId=crm&sourceId=shop', ['a']],
    ['?destinationId=gone', []],
  ])('%s', async (query, expected) => {
    const answer = await ask(all, query)
    expect(ids(answer)).toEqual(expected)
    expect(answer.json.oldest).toBe('2026-01-02T03:01:00.000Z')
  })
})

describe('invalid queries', () => {
  test.each([
    ['?state=ok', '/state', 'unknown_field'],
    ['?outcome=good', '/outcome', 'invalid_value'],
    ['?destinationId=A%20B', '/destinationId', 'invalid_format'],
    ['?since=yesterday', '/since', 'invalid_format'],
    ['?since=2026-01-02', '/since', 'invalid_format'],
    ['?until=2026-02-30T00:00:00Z', '/until', 'invalid_format'],
    ['?limit=0', '/limit', 'too_small'],
    ['?limit=1001', '/limit', 'too_big'],
    ['?cursor=abc', '/cursor', 'invalid_format'],
    ['?messageId=', '/messageId', 'too_short'],
    ['?outcome=retry&outcome=refused', '/outcome', 'invalid_value'],
  ])('%s', async (query, pointer, code) => {
    const { status, json } = await ask([], query)
    expect([status, json.code, json.errors]).toMatchObject([400, 'validation_failed', [{ pointer, code }]])
  })
})

test('a request waits while attempts are loading, because a part would look complete', async () => {
  const held = attemptsHeld([anAttempt()]).attempts
  let isLoaded = false
  const attempts = {
    ...held,
    isLoaded: () => isLoaded,
    get loaded() {
      return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        isLoaded = true
      })
    },
  }
  const { ask } = api({}, { attempts })
  expect(await ask({ url: '/api/attempts' })).toMatchObject({
    status: 200,
    json: { items: [{ deliveryId: 'd1' }] },
  })
})

function held(maxCount: number, count: number) {
  const { recent, ofMessage } = createRecentAttempts({ maxCount, maxBytes: Number.POSITIVE_INFINITY })
  for (let index = 0; index < count; index++) {
    const attempt = anAttempt({ messageId: `m${index % 10}`, startedAt: index, attempt: index })
    recent.add({ time: index, partition: 0, offset: index, attempt, bytes: 0 })
  }
  return { all: () => recent.all().map(({ attempt }) => attempt), ofMessage }
}

test('by message, all attempts in memory are found, and no dropped ones', () => {
  const { all, ofMessage } = held(25, 1_000)
  // unsorted records are held too
  const last = new Set(all())
  const byMessage = Array.from({ length: 11 }, (_, index) => [...ofMessage(`m${index}`)]).flat()
  expect(byMessage.length).toBe(25)
  expect(new Set(byMessage)).toEqual(last)
})

const letter = { deliveryId: 'd1', time: 1_000 }
const after = (startedAt: number, outcome: 'delivered' | 'retry', deliveryId = 'd1') =>
  anAttempt({ startedAt, outcome, deliveryId })

test('a replayed dead letter shows that it was delivered, otherwise the outcome of the last attempt', () => {
  expect(afterwards(letter, [after(999, 'retry'), after(2_000, 'delivered', 'd2')])).toBeNull()
  expect(afterwards(letter, [after(3_000, 'retry'), after(2_000, 'retry')])).toEqual({
    outcome: 'retry',
    at: '1970-01-01T00:00:03.000Z',
  })
  expect(afterwards(letter, [after(3_000, 'retry'), after(2_000, 'delivered')])?.outcome).toBe('delivered')
})
