import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../schemas/delivery.ts'
import { api, VIEW } from '../api.ts'
import { anAttempt, attemptsHeld } from '../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../dead-in-memory.ts'

const minute = (minutes: number) => Date.parse('2026-01-02T03:00:00.000Z') + minutes * 60_000

function ask(
  of: Partial<Delivery>[],
  query = '',
  more: Parameters<typeof deadHeld>[1] & { token?: string } = {},
) {
  const { token, ...held } = more
  const { ask, lines } = api({}, deadHeld(of.map(aDeadOne), held))
  return ask({ url: `/api/dead${query}`, ...(token && { token }) }).then((answer) => ({ ...answer, lines }))
}

const ids = (answer: Awaited<ReturnType<typeof ask>>) =>
  answer.json.items.map(({ deliveryId }: Delivery) => deliveryId)

test('a dead letter has its reason, every attempt and its body, byte for byte', async () => {
  const { status, json } = await ask([{ body: '{"b":1, "a":"é"}' }])
  expect([status, json]).toEqual([
    200,
    {
      counts: [{ destinationId: 'crm', reason: 'attempts_exhausted', count: 1 }],
      partial: false,
      oldest: '2026-01-02T03:04:05.678Z',
      items: [
        {
          deliveryId: '0123456789abcdef0123456789abcdef',
          messageId: 'm1',
          destinationId: 'crm',
          reason: 'attempts_exhausted',
          deadAt: '2026-01-02T03:04:05.678Z',
          attempts: [
            {
              attempt: 1,
              urlIndex: 0,
              startedAt: '2026-01-02T03:04:00.000Z',
              durationMs: 12,
              outcome: 'retry',
              status: 503,
              code: 'http_5xx',
            },
          ],
          body: '{"b":1, "a":"é"}',
          afterwards: null,
        },
      ],
      next: null,
    },
  ])
})

test('a view token may read them, without the URLs of the destination, which may hold secrets', async () => {
  const { status, text } = await ask([{ refusedUrls: ['https://crm.example/hook?key=secret'] }], '', {
    token: VIEW,
  })
  expect(status).toBe(200)
  expect(text).not.toContain('secret')
})

const all: Partial<Delivery>[] = [
  { deliveryId: 'a', deadAt: minute(1) },
  { deliveryId: 'b', deadAt: minute(2), destinationId: 'erp', deadReason: 'refused', messageId: 'm2' },
  { deliveryId: 'c', deadAt: minute(3), deadReason: 'refused' },
  { deliveryId: 'd', deadAt: minute(4), deadReason: 'refused' },
]

test('come newest first, in pages; counts ignore the query', async () => {
  const first = await ask(all, '?limit=3')
  expect(ids(first)).toEqual(['d', 'c', 'b'])
  const second = await ask(all, `?limit=3&cursor=${first.json.next}&reason=attempts_exhausted`)
  expect([ids(second), second.json.next]).toEqual([['a'], null])
  expect(second.json.counts).toEqual([
    { destinationId: 'crm', reason: 'refused', count: 2 },
    { destinationId: 'crm', reason: 'attempts_exhausted', count: 1 },
    { destinationId: 'erp', reason: 'refused', count: 1 },
  ])
})

test('expired dead letters are neither listed nor counted', async () => {
  const answer = await ask(all, '', { low: 2 })
  expect(ids(answer)).toEqual(['d', 'c'])
  expect(answer.json.counts).toEqual([{ destinationId: 'crm', reason: 'refused', count: 2 }])
  expect((await ask(all, '', { low: 4 })).json).toEqual({
    counts: [],
    partial: false,
    oldest: null,
    items: [],
    next: null,
  })
})

test('a dead letter whose body expires during the request is listed without it', async () => {
  const { json } = await ask(all, '?deliveryId=a', { readBodies: async () => new Map() })
  expect(json.items).toMatchObject([{ deliveryId: 'a', body: null, attempts: [] }])
})

test('the response says if the topic has more dead letters than are in memory', async () => {
  expect((await ask(all, '', { isPartial: () => true })).json.partial).toBe(true)
})

test('a request while Kafka does not answer gets 503, and the log says why', async () => {
  const firstOffsets = () => Promise.reject(new Error('no broker'))
  const { status, json, headers, lines } = await ask(all, '', { firstOffsets })
  expect([status, json.code, headers['retry-after']]).toEqual([503, 'unavailable', '5'])
  expect(lines.join()).toContain('no broker')
})

describe('filters', () => {
  test.each([
    ['?destinationId=erp', ['b']],
    ['?reason=refused', ['d', 'c', 'b']],
    ['?deliveryId=c', ['c']],
    ['?messageId=m2', ['b']],
    ['?since=2026-01-02T03:02:00Z&until=2026-01-02T03:04:00Z', ['c', 'b']],
    ['?destinationId=gone', []],
  ])('%s', async (query, expected) => {
    expect(ids(await ask(all, query))).toEqual(expected)
  })
})

test.each([
  ['?outcome=dead', '/outcome', 'unknown_field'],
  ['?reason=tired', '/reason', 'invalid_value'],
  ['?limit=101', '/limit', 'too_big'],
  ['?cursor=x', '/cursor', 'invalid_format'],
])('asked for what cannot be: %s', async (query, pointer, code) => {
  const { status, json } = await ask([], query)
  expect([status, json.errors]).toMatchObject([400, [{ pointer, code }]])
})

test('a replayed dead letter has the result of its replay', async () => {
  const letter = aDeadOne()
  const at = (letter.deadAt ?? 0) + 60_000
  const tried = anAttempt({ deliveryId: letter.deliveryId, messageId: letter.messageId, startedAt: at })
  const { json } = await api({}, { ...deadHeld([letter]), ...attemptsHeld([tried]) }).ask({
    url: '/api/dead',
  })
  expect(json.items).toMatchObject([{ afterwards: { outcome: 'delivered', at: '2026-01-02T03:05:05.678Z' } }])
})
