import { describe, expect, test } from 'vitest'
import { createKeptSearch } from '../../../../control/activity/events/kept-search.ts'
import type { EventsQuery } from '../../../../control/activity/events/matches.ts'
import { type FoundCall, foundRejected } from '../../../../control/activity/events/search.ts'
import { deliveryId } from '../../../../delivery/routing/routing.ts'
import { createSlices } from '../../../../process/slices.ts'
import type { Filter } from '../../../../rules/rules.ts'
import { anEvent } from '../../../helpers/events.ts'
import { api, VIEW } from '../../api.ts'
import { anAttempt, attemptsHeld } from '../../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../../dead-in-memory.ts'
import { crm, shop } from '../../in-memory.ts'

const erp = { ...crm, id: 'erp', sourceIds: [] }
const event = anEvent({ receivedAt: Date.parse('2026-01-02T03:04:05.678Z'), properties: '{"total":1}' })
const id = deliveryId('crm', event)

function searching(items: FoundCall[] = [{ event }], parts: Parameters<typeof api>[1] = {}) {
  const asked: EventsQuery[] = []
  const hashed: (readonly string[])[] = []
  const made = api(
    { sources: [shop], destinations: [crm, erp] },
    {
      events: {
        async search(query, destinationsOf) {
          asked.push(query)
          hashed.push(destinationsOf('shop'))
          return { items, next: '1.0.0', searchedSince: event.receivedAt }
        },
      },
      trace: async () => new Map(),
      ...parts,
    },
  )
  return { ...made, asked, hashed }
}

test('an event has its call and its destinations, and a view token may read it', async () => {
  const attempt = anAttempt({ deliveryId: id, startedAt: event.receivedAt + 10 })
  const { ask } = searching(
    undefined,
    attemptsHeld([attempt, anAttempt({ deliveryId: 'of another source' })]),
  )
  const { status, json } = await ask({ url: '/api/events?messageId=m1', token: VIEW })
  expect([status, json]).toMatchObject([
    200,
    {
      items: [
        {
          messageId: 'm1',
          receivedAt: '2026-01-02T03:04:05.678Z',
          call: { messageId: 'm1', properties: { total: 1 } },
          rejected: null,
          destinations: [
            {
              destinationId: 'crm',
              deliveryId: id,
              routed: true,
              state: 'delivered',
              attempts: [{ deliveryId: id, startedAt: '2026-01-02T03:04:05.688Z' }],
            },
          ],
        },
      ],
      next: '1.0.0',
      searchedSince: '2026-01-02T03:04:05.678Z',
    },
  ])
  expect(json.items[0].destinations).toHaveLength(1)
})

test.each([
  ['events', '2026-01-02T03:00:00Z', true],
  ['deliveries', '2026-01-02T03:05:00Z', true],
  ['deliveries.retry.1h', '2026-01-02T03:05:00Z', true],
  // before it came in
  ['deliveries', '2026-01-02T03:00:00Z', false],
  ['attempts', '2026-01-02T03:05:00Z', false],
])(
  'records that Kafka lost of %s at %s are reported with a call whose delivery is open: %s',
  async (topic, at, isTold) => {
    const fault = {
      ...{ at, topic, partition: 0, cause: 'truncated', from: 300, lost: 200, unread: 20 },
      ...{ readTo: null, seenBy: ['deliverer'] },
    }
    const { ask } = searching(undefined, { faults: { all: () => [fault] } })
    const { json } = await ask({ url: '/api/events?messageId=m1' })
    // it came in long ago
    expect(json.items[0].destinations).toMatchObject([{ state: 'unknown' }])
    expect(json.faults).toEqual(isTold ? [fault] : [])
  },
)

test('lost calls are reported for their time range, and lost deliveries if one is open', async () => {
  const fault = (topic: string) => ({
    ...{ at: '2026-01-02T03:05:00Z', topic, partition: 0, cause: 'truncated', from: 300, lost: 200 },
    ...{ unread: 20, readTo: null, seenBy: ['router'] },
  })
  const { ask } = searching([], { faults: { all: () => [fault('events'), fault('deliveries')] } })
  const asked = async (query: string) => (await ask({ url: `/api/events?${query}` })).json.faults
  expect(await asked('messageId=m1')).toEqual([fault('events')])
  expect(await asked('since=2026-01-02T04:00:00Z')).toEqual([])
})

test('attempts that are no longer in memory are searched for in the topic', async () => {
  const held = attemptsHeld([anAttempt({ deliveryId: 'later', startedAt: event.receivedAt + 1 })])
  const asked: unknown[] = []
  const found = anAttempt({ deliveryId: id, startedAt: event.receivedAt + 1 })
  const { ask } = searching(undefined, {
    ...held,
    async trace(incomplete, until) {
      asked.push([incomplete, until])
      return new Map([[id, [found]]])
    },
  })
  const { json } = await ask({ url: '/api/events?messageId=m1' })
  expect(asked).toMatchObject([
    [[{ deliveryId: id, destinationId: 'crm', receivedAt: event.receivedAt }], expect.any(Number)],
  ])
  expect(json.items[0].destinations).toMatchObject([{ state: 'delivered', attempts: [{ deliveryId: id }] }])
})

test('a dead letter has its attempts even if they are no longer in memory: the status says what to correct', async () => {
  const time = event.receivedAt
  const rejected = anAttempt({
    ...{ deliveryId: id, startedAt: time + 10, durationMs: 5 },
    ...{ outcome: 'rejected', status: 404, code: 'http_404' },
  })
  const { ask } = searching(undefined, {
    // since when all are known
    ...attemptsHeld([anAttempt({ deliveryId: 'later', messageId: 'm9', startedAt: time + 60_000 })]),
    ...deadHeld([aDeadOne({ deliveryId: id, deadAt: time + 20, deadReason: 'rejected' })]),
    trace: async () => new Map([[id, [rejected]]]),
  })
  const { json } = await ask({ url: '/api/events?messageId=m1' })
  expect(json.items[0].destinations).toMatchObject([
    {
      state: 'rejected',
      dead: { reason: 'rejected', code: null },
      attempts: [{ outcome: 'rejected', status: 404 }],
    },
  ])
})

test('a delivery is deferred, and no one knows until when', async () => {
  const deferred = anAttempt({ deliveryId: id, outcome: 'deferred', status: null, code: 'breaker_open' })
  const { ask } = searching(undefined, attemptsHeld([{ ...deferred, startedAt: Date.now() - 1_000 }]))
  const { json } = await ask({ url: '/api/events?messageId=m1' })
  expect(json.items[0].destinations).toMatchObject([{ state: 'deferred', nextAttemptAt: null }])
})

test('calls that share a messageId share the attempts shown: anyone with a write key can send thousands', async () => {
  const shared = [1, 2, 3, 4].map((user) => ({ event: { ...event, userId: `u${user}` } }))
  const sent = Array.from({ length: 500 }, (_, ms) =>
    anAttempt({ deliveryId: id, startedAt: event.receivedAt + ms }),
  )
  const destinations = async (items: FoundCall[], limit: number) =>
    (
      await searching(items, attemptsHeld(sent)).ask({ url: `/api/events?limit=${limit}` })
    ).json.items.flatMap((item: { destinations: unknown[] }) => item.destinations)
  const all = await destinations(shared, 4)
  expect(
    all.map(({ state, attempts }: { state: string; attempts: unknown[] }) => [state, attempts.length]),
  ).toEqual(shared.map(() => ['delivered', 25]))
  const [alone] = await destinations(shared.slice(0, 1), 1)
  expect(alone.attempts).toHaveLength(100)
  expect(alone.attempts.at(-1).startedAt).toBe('2026-01-02T03:04:06.177Z')
})

test('a destination with attempts is reported even if it was removed', async () => {
  const gone = { destinationId: 'gone', deliveryId: deliveryId('gone', event) }
  const { ask } = searching(undefined, {
    ...attemptsHeld([anAttempt(gone)]),
    ...deadHeld([aDeadOne(gone)]),
  })
  const { json } = await ask({ url: '/api/events' })
  expect(json.items[0].destinations).toMatchObject([
    { destinationId: 'crm' },
    { destinationId: 'gone', routed: false, reason: 'removed', state: 'delivered' },
  ])
})

test('with a destination in the query, only that one is reported', async () => {
  const { ask } = searching()
  const { json } = await ask({ url: '/api/events?destinationId=erp' })
  expect(json.items[0].destinations).toMatchObject([{ destinationId: 'erp', reason: 'source' }])
})

describe('a search for a delivery', () => {
  test('finds its call by an attempt in memory', async () => {
    const { ask, asked } = searching([], attemptsHeld([anAttempt({ deliveryId: id })]))
    await ask({ url: `/api/events?deliveryId=${id}` })
    expect(asked).toMatchObject([{ deliveryId: id, messageId: 'm1', sourceId: 'shop' }])
  })

  test('finds its call by a dead letter in memory', async () => {
    const gone = aDeadOne({ deliveryId: 'd9', messageId: 'm9', destinationId: 'gone' })
    const { ask, asked, hashed } = searching([], deadHeld([gone]))
    await ask({ url: '/api/events?deliveryId=d9' })
    expect(asked).toMatchObject([{ deliveryId: 'd9', messageId: 'm9', sourceId: undefined }])
    expect(hashed).toEqual([['crm', 'gone']])
  })

  test('that is unknown matches by the destinations connected to each source', async () => {
    const { ask, asked, hashed } = searching([])
    await ask({ url: '/api/events?deliveryId=d9&destinationId=erp' })
    expect([asked[0]?.messageId, hashed]).toEqual([undefined, [['crm', 'erp']]])
  })
})

test('a rejected call has its reason, but not its write key', async () => {
  const rejected = {
    sourceId: 'shop',
    code: 'event_not_defined',
    message: 'no event',
    raw: '{"messageId":"m1","type":"track","writeKey":"shop-write-key"}',
    receivedAt: event.receivedAt,
    truncated: false,
  }
  const { ask } = searching([foundRejected(rejected)])
  const { json, text } = await ask({ url: '/api/events?messageId=m1' })
  expect(json.items).toMatchObject([
    {
      messageId: 'm1',
      type: 'track',
      userId: null,
      rejected: { code: 'event_not_defined' },
      destinations: [],
    },
  ])
  expect(text).not.toContain('shop-write-key')
})

test('three searches with the view token leave a place for an administrator, and a refused one is not audited', async () => {
  const { promise, resolve } = Promise.withResolvers<{ items: []; next: null; searchedSince: null }>()
  const { ask, lines } = searching([], { events: { search: () => promise } })
  const url = '/api/events?userId=u'
  const seen = Array.from({ length: 4 }, (_, place) => ask({ url: `${url}${place}`, token: VIEW }))
  expect(await Promise.race(seen)).toMatchObject({ status: 429, json: { code: 'too_many_searches' } })
  expect((await ask({ url: '/api/deliveries', token: VIEW })).status).toBe(429)
  const admin = ask({ url })
  resolve({ items: [], next: null, searchedSince: null })
  const statuses = (await Promise.all(seen)).map(({ status }) => status)
  expect([statuses.toSorted(), (await admin).status]).toEqual([[200, 200, 200, 429], 200])
  expect(lines.filter((line) => line.includes('"searched"'))).toHaveLength(4)
})

test('too many searches get 429; while Kafka does not answer, they get 503', async () => {
  const busy = searching([], { events: { search: () => undefined } })
  expect(await busy.ask({ url: '/api/events' })).toMatchObject({
    status: 429,
    json: { code: 'too_many_searches' },
    headers: { 'retry-after': '1' },
  })
  const away = searching([], { events: { search: () => Promise.reject(new Error('no broker')) } })
  expect(await away.ask({ url: '/api/events' })).toMatchObject({ status: 503, json: { code: 'unavailable' } })
})

test('rules that take too long get 503 with what to ask instead, and too many at once get 429', async () => {
  const slow = searching(undefined, { keptSearch: async () => 'too_long' })
  expect(await slow.ask({ url: '/api/events?limit=100' })).toMatchObject({
    status: 503,
    json: { code: 'unavailable', message: expect.stringContaining('limit') },
  })
  const busy = searching(undefined, { keptSearch: async () => 'too_many' })
  expect(await busy.ask({ url: '/api/events' })).toMatchObject({
    status: 429,
    json: { code: 'too_many_searches' },
  })
})

test.each([
  ['?limit=101', '/limit', 'too_big'],
  ['?cursor=x', '/cursor', 'invalid_format'],
  ['?userId=', '/userId', 'too_short'],
  ['?email=a', '/email', 'unknown_field'],
])('asked for what cannot be: %s', async (query, pointer, code) => {
  const { status, json } = await searching().ask({ url: `/api/events${query}` })
  expect([status, json.errors]).toMatchObject([400, [{ pointer, code }]])
})

test('other requests get their turns while the rules of many destinations run', async () => {
  const large = anEvent({ properties: JSON.stringify({ list: Array(3_000).fill(0) }) })

  /** Of the event loop, during a request. */
  async function turnsWith(filter: Filter): Promise<number> {
    const destinations = Array.from({ length: 40 }, (_, nth) => ({
      ...crm,
      id: `crm${nth}`,
      rules: { filter },
    }))
    const { ask } = api(
      { sources: [shop], destinations },
      {
        events: { search: async () => ({ items: [{ event: large }], next: null, searchedSince: null }) },
        trace: async () => new Map(),
        // no time limit, however busy this machine is
        keptSearch: createKeptSearch(() => 0, createSlices()),
      },
    )
    let turns = 0
    let isOver = false
    const turn = () => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    turn()
    const { json } = await ask({ url: '/api/events?messageId=m1' })
    isOver = true
    expect(json.items[0].destinations).toMatchObject(destinations.map(() => ({ reason: 'filtered' })))
    return turns
  }

  // each condition reads the whole list
  const any = Array.from({ length: 100 }, (_, nth) => ({ path: 'properties.list[*]', eq: nth + 1 }))
  // the least of three: a request may also wait, for example for code that is loaded
  const cheap: number[] = []
  for (let times = 0; times < 3; times++) cheap.push(await turnsWith({ path: 'type', eq: 'page' }))
  expect(await turnsWith({ any })).toBeGreaterThan(Math.min(...cheap) + 4)
})
