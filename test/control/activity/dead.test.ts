import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Replay } from '../../../schemas/task.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { anAttempt, attemptsHeld } from '../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../dead-in-memory.ts'
import { crm } from '../in-memory.ts'
import { aReplay, tasksInMemory } from '../tasks-in-memory.ts'

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

const ids = (answer: Pick<Awaited<ReturnType<typeof ask>>, 'json'>) =>
  answer.json.items.map(({ deliveryId }: Delivery) => deliveryId)

test('a dead letter says why its rules failed', async () => {
  const { json } = await ask([{ deadReason: 'rules_failed', history: [] }])
  expect(json.items).toMatchObject([{ reason: 'rules_failed', code: 'too_large' }])
})

test('a dead letter has its reason, every attempt and its body, byte for byte', async () => {
  const { status, json } = await ask([{ body: '{"b":1, "a":"é"}' }])
  expect([status, json]).toEqual([
    200,
    {
      counts: [{ destinationId: 'crm', reason: 'attempts_exhausted', count: 1 }],
      matching: [{ destinationId: 'crm', count: 1 }],
      partial: false,
      oldest: '2026-01-02T03:04:05.678Z',
      items: [
        {
          id: 'x0-0',
          deliveryId: '0123456789abcdef0123456789abcdef',
          messageId: 'm1',
          destinationId: 'crm',
          event: null,
          user: 'u1',
          reason: 'attempts_exhausted',
          code: null,
          deadAt: '2026-01-02T03:04:05.678Z',
          replayed: null,
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

const paid = '{"version":1,"type":"track","userId":"u1","event":"Paid"}'
const past = {
  attempt: 1,
  urlIndex: 0,
  startedAt: minute(0),
  durationMs: 1,
  outcome: 'retry',
  status: null,
  code: 'timeout',
}
const all: Partial<Delivery>[] = [
  { deliveryId: 'a', deadAt: minute(1), history: [{ ...past, status: 404 }, past] },
  { deliveryId: 'b', deadAt: minute(2), destinationId: 'erp', deadReason: 'refused', messageId: 'm2' },
  { deliveryId: 'c', deadAt: minute(3), deadReason: 'refused', body: paid },
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
    matching: [],
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

describe('what has been replayed', () => {
  const letters = [
    { deliveryId: 'a', deadAt: minute(1), body: paid },
    { deliveryId: 'b', deadAt: minute(2), deadReason: 'refused', body: paid },
    { deliveryId: 'a', deadAt: minute(3), body: paid },
    { deliveryId: 'c', deadAt: minute(4), destinationId: 'erp', body: paid },
  ]
  const between = { from: new Date(minute(0)).toISOString(), to: new Date(minute(3)).toISOString() }

  async function answer(query: string, replays: Partial<Replay>[]) {
    const made = replays.map((each, index) =>
      aReplay({ id: `r${index}`, ranges: [{ partition: 0, from: 0, to: 99 }], state: 'done', ...each }),
    )
    const tasks = { ...tasksInMemory().tasks, replays: new Map(made.map((each) => [each.id, each])) }
    const { ask } = api({}, { ...deadHeld(letters.map(aDeadOne)), tasks })
    const { json } = await ask({ url: `/api/dead${query}` })
    return {
      items: json.items.map((each: Delivery & { replayed: { id: string } | null }) =>
        [each.deliveryId, each.replayed?.id].join(' ').trim(),
      ),
      matching: json.matching,
    }
  }

  test('is named, and a delivery that died again since is still to be replayed', async () => {
    expect((await answer('', [between])).items).toEqual(['c', 'a', 'b r0', 'a r0'])
    expect(await answer('?replayed=false&destinationId=crm', [between])).toEqual({
      items: ['a'],
      matching: [{ destinationId: 'crm', count: 1 }],
    })
    expect((await answer('?replayed=true', [between])).items).toEqual(['b r0', 'a r0'])
  })

  test('counts a delivery that was given up twice once', async () => {
    expect((await answer('', [])).matching).toEqual([
      { destinationId: 'crm', count: 2 },
      { destinationId: 'erp', count: 1 },
    ])
  })

  test.each<[string, Partial<Replay>, string[]]>([
    ['nothing, if the replay was cancelled', { ...between, state: 'cancelled' }, ['a', 'b', 'a']],
    [
      'what it had sent, if it was cancelled later',
      { ...between, state: 'cancelled', done: [{ partition: 0, from: 0, to: 1 }] },
      ['a', 'b'],
    ],
    [
      'nothing that it named but had not reached, if it was cancelled',
      {
        places: [0, 1].map((offset) => ({ partition: 0, offset })),
        state: 'cancelled',
        done: [{ partition: 0, from: 0, to: 1 }],
      },
      ['a', 'b'],
    ],
    ['nothing, if it went elsewhere', { ...between, destinationId: 'erp' }, ['a', 'b', 'a']],
    ['nothing, if it replayed events', { ...between, what: 'events' }, ['a', 'b', 'a']],
    ['what its conditions select', { ...between, reason: 'refused' }, ['a', 'a']],
    ['nothing with another name', { ...between, event: 'Left' }, ['a', 'b', 'a']],
    ['what its status selects', { ...between, status: '5xx' }, ['a']],
    ['what it names', { places: [{ partition: 0, offset: 1 }] }, ['a', 'a']],
    ['what its ranges reach', { ...between, ranges: [{ partition: 0, from: 1, to: 9 }] }, ['a', 'a']],
  ])('is %s', async (_, replay, left) => {
    expect((await answer('?replayed=false&destinationId=crm', [replay])).items).toEqual(left)
  })

  test('shows once a cancelled replay says how far it got', async () => {
    const cancelled = aReplay({ ...between, state: 'cancelled', ranges: [{ partition: 0, from: 0, to: 99 }] })
    const replays = new Map([['r1', cancelled]])
    const { ask } = api(
      {},
      { ...deadHeld(letters.map(aDeadOne)), tasks: { ...tasksInMemory().tasks, replays } },
    )
    const left = async () => ids(await ask({ url: '/api/dead?replayed=false&destinationId=crm' }))
    expect(await left()).toEqual(['a', 'b', 'a'])
    replays.set('r1', { ...cancelled, done: [{ partition: 0, from: 0, to: 2 }] })
    expect(await left()).toEqual(['a'])
  })

  test('is not what a replay skipped', async () => {
    const later = { ...between, createdAt: '2026-01-03T00:00:00.000Z', skipReplayed: true }
    const { items } = await answer('', [{ ...between, reason: 'refused' }, later])
    expect(items).toEqual(['c', 'a', 'b r0', 'a r1'])
  })
})

describe('filters', () => {
  test.each([
    ['?destinationId=erp', ['b']],
    ['?reason=refused', ['d', 'c', 'b']],
    ['?deliveryId=c', ['c']],
    ['?messageId=m2', ['b']],
    ['?since=2026-01-02T03:02:00Z&until=2026-01-02T03:04:00Z', ['c', 'b']],
    ['?destinationId=gone', []],
    ['?event=Paid', ['c']],
    ['?user=u1', ['d', 'c', 'b', 'a']],
    ['?user=u2', []],
    ['?status=503', ['d', 'c', 'b']],
    ['?status=4xx', ['a']],
    ['?replayed=true', []],
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

test('the view token sees no text of a shape in a body, because it can be an API key', async () => {
  const destinations = [{ ...crm, rules: { shape: { key: 'the-api-key', user: '{{userId}}' } } }]
  const of = [{ body: '{"key":"the-api-key","user":"u1"}' }]
  const { ask } = api({ destinations }, deadHeld(of.map(aDeadOne)))
  const bodyFor = async (token?: string) =>
    (await ask({ url: '/api/dead', ...(token && { token }) })).json.items[0].body
  expect(await bodyFor(VIEW)).toBe('{"key":"***","user":"u1"}')
  expect(await bodyFor()).toBe(of[0]?.body)
})

test('the view token sees no text of a shape as the name of the event', async () => {
  const eventFor = async (event: string, token: string) => {
    const destinations = [{ ...crm, rules: { shape: { event } } }]
    const { ask } = api({ destinations }, deadHeld([aDeadOne({ body: '{"event":"Paid by u1"}' })]))
    return (await ask({ url: '/api/dead', token })).json.items[0].event
  }
  expect(await eventFor('Paid by {{userId}}', VIEW)).toBe('***')
  expect(await eventFor('Paid by {{userId}}', ADMIN)).toBe('Paid by u1')
  expect(await eventFor('{{event}}', VIEW)).toBe('Paid by u1')
})

test('other requests get a turn while a page of large bodies is masked for the view token', async () => {
  const destinations = [{ ...crm, rules: { shape: { list: '{{properties.list}}' } } }]
  const turnsFor = async (length: number) => {
    const body = JSON.stringify({ list: Array.from({ length }, () => ({})) })
    const of = Array.from({ length: 100 }, (_, index) => aDeadOne({ body, deliveryId: `d${index}` }))
    const { ask } = api({ destinations }, deadHeld(of))
    let turns = 0
    const count = (): void => {
      turns += 1
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    const { json } = await ask({ url: '/api/dead?limit=100', token: VIEW })
    clearImmediate(counting)
    expect(json.items[99].body).toBe(body)
    return turns
  }
  const few = await turnsFor(1)
  expect(await turnsFor(25_000)).toBeGreaterThan(few + 3)
})
