import { describe, expect, test } from 'vitest'
import {
  type DeliveriesQuery,
  type Entry,
  type Listed,
  listedOf,
} from '../../../../control/activity/deliveries/listed.ts'
import type { Select } from '../../../../control/activity/deliveries/search.ts'
import type { Attempt } from '../../../../schemas/attempt.ts'
import type { Delivery } from '../../../../schemas/delivery.ts'
import { aDelivery } from '../../../helpers/events.ts'
import { ADMIN, api, VIEW } from '../../api.ts'
import { anAttempt, attemptsHeld } from '../../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../../dead-in-memory.ts'
import { crm, shop } from '../../in-memory.ts'

// recent, as attempts are forgotten after three days
const routedAt = Date.now() - 600_000
const iso = (time: number) => new Date(time).toISOString()
const second = (count: number) => routedAt + count * 1_000
const body = '{"version":1,"type":"track","userId":"u1","event":"Paid"}'
const made = (fields: Partial<Delivery> = {}) => aDelivery({ routedAt, body, ...fields })
const entry: Entry = { routed: true, partition: 3, offset: 1042 }
const ladder = {
  ladder: [
    { name: '5s', delayMs: 5_000 },
    { name: '30s', delayMs: 30_000 },
  ],
  windowMs: 3_600_000,
}

const unsettled = async () => new Set<Listed>()

type Given = { deliveries?: Delivery[]; attempts?: Attempt[]; dead?: Delivery[]; token?: string }

/** The search finds these in this order. */
function listing(given: Given = {}, parts: Parameters<typeof api>[1] = {}) {
  const { deliveries = [made()], attempts = [], dead = [] } = given
  const listed = deliveries.map((each, index) =>
    listedOf(each, 'crm/u1', { ...entry, routed: !each.replay, offset: index }),
  )
  const asked: DeliveriesQuery[] = []
  async function search(query: DeliveriesQuery, { select }: { select: Select | undefined }) {
    asked.push(query)
    const selected = await select?.(listed)
    const items = listed.filter((each) => selected?.has(each) ?? true)
    return { items, next: '1.0.0', searchedSince: routedAt }
  }
  const tools = api(
    { sources: [shop], destinations: [crm] },
    {
      // before it, all attempts are known
      ...attemptsHeld([anAttempt({ deliveryId: 'older', startedAt: second(-60) }), ...attempts]),
      ...deadHeld(dead),
      ladder,
      trace: async () => new Map(),
      deliveries: { search, read: async () => undefined, unsettled },
      ...parts,
    },
  )
  return { ...tools, asked }
}

const { deliveryId } = made()
const attempt = (fields: Partial<Attempt>) => anAttempt({ deliveryId, startedAt: second(1), ...fields })
const failed = attempt({ outcome: 'retry', status: 503, code: 'http_5xx' })
const rejected = attempt({ outcome: 'rejected', status: 404, code: 'http_404' })
const deferred = attempt({ outcome: 'deferred', status: null, code: 'breaker_open', durationMs: 0 })
const cancelled = attempt({ outcome: 'cancelled', status: null, code: 'destination_deleted', urlIndex: null })

test('a delivery is listed with its subject, its state and its attempts', async () => {
  const { ask, asked } = listing({ attempts: [failed] })
  const { status, json } = await ask({ url: '/api/deliveries?destinationId=crm&event=Paid', token: VIEW })
  expect([status, json]).toEqual([
    200,
    {
      items: [
        {
          id: 'd3-0',
          deliveryId,
          messageId: 'm1',
          sourceId: 'shop',
          destinationId: 'crm',
          type: 'track',
          event: 'Paid',
          user: 'u1',
          routedAt: iso(routedAt),
          replay: false,
          state: 'retrying',
          attemptCount: 1,
          lastStatus: 503,
          lastCode: 'http_5xx',
          lastAttemptAt: iso(second(1)),
          deadLetter: null,
          nextAttemptAt: iso(second(6) + 12),
        },
      ],
      next: '1.0.0',
      searchedSince: iso(routedAt),
      unknown: 0,
      faults: [],
    },
  ])
  expect(asked).toMatchObject([{ destinationId: 'crm', event: 'Paid', limit: 50 }])
})

test('attempts that are no longer in memory still count, by the number of a later one', async () => {
  const later = [
    { ...failed, attempt: 4, startedAt: second(150) },
    { ...failed, attempt: 5, startedAt: second(450) },
    { ...deferred, attempt: 6, startedAt: second(1_350) },
  ]
  const { json } = await listing({ attempts: later }).ask({ url: '/api/deliveries' })
  expect(json.items).toMatchObject([{ attemptCount: 5 }])
})

test('the view token sees no text of a shape as the name of the event', async () => {
  const destinations = [{ ...crm, rules: { shape: { event: 'the-api-key' } } }]
  const delivery = made({ body: '{"event":"the-api-key"}' })
  const listed = listedOf(delivery, 'crm/u1', entry)
  const search = async () => ({ items: [listed], next: null, searchedSince: null })
  const deliveries = { search, read: async () => ({ listed, delivery }), unsettled }
  const { ask } = api(
    { sources: [shop], destinations },
    { ...attemptsHeld(), ...deadHeld([]), ladder, trace: async () => new Map(), deliveries },
  )
  const eventsFor = async (token: string) => [
    (await ask({ url: '/api/deliveries', token })).json.items[0].event,
    (await ask({ url: '/api/deliveries/d3-1042', token })).json.event,
  ]
  expect(await eventsFor(VIEW)).toEqual(['***', '***'])
  expect(await eventsFor(ADMIN)).toEqual(['the-api-key', 'the-api-key'])
})

test('a dead letter whose attempts are no longer in memory is listed with them', async () => {
  const old = { routedAt: second(-3_600) }
  const attempts = [attempt({ ...rejected, startedAt: second(-3_599) })]
  const { ask } = listing(
    { deliveries: [made(old)], dead: [made({ ...old, deadReason: 'rejected', deadAt: second(-3_598) })] },
    { trace: async () => new Map([[deliveryId, attempts]]) },
  )
  const expected = {
    state: 'rejected',
    attemptCount: 1,
    lastStatus: 404,
    lastCode: 'http_404',
    lastAttemptAt: iso(second(-3_599)),
  }
  for (const url of ['/api/deliveries', '/api/deliveries?state=rejected'])
    expect((await ask({ url })).json.items).toMatchObject([expected])
})

test('a delivery has the dead letter of its own user, even if another user shares its id', async () => {
  const died = (seconds: number) => made({ deadReason: 'window_expired', deadAt: second(seconds) })
  const held = deadHeld([died(2), died(3)], { users: ['u1', 'u2'] })
  const { json } = await listing({}, held).ask({ url: '/api/deliveries' })
  expect(json.items).toMatchObject([{ user: 'u1', state: 'dead', deadLetter: 'x0-0' }])
})

describe('the state of a delivery is', () => {
  const dead = (deadReason: string) => made({ deadReason, deadAt: second(2) })
  test.each<[string, Given]>([
    ['waiting', {}],
    ['delivered', { attempts: [failed, attempt({ startedAt: second(7), attempt: 2 })] }],
    ['retrying', { attempts: [failed] }],
    ['deferred', { attempts: [deferred] }],
    ['rejected', { attempts: [rejected] }],
    ['rejected', { attempts: [rejected], dead: [dead('rejected')] }],
    ['dead', { attempts: [failed], dead: [dead('window_expired')] }],
    ['dead', { attempts: [attempt({ outcome: 'refused', status: null, code: 'tls_expired' })] }],
    ['cancelled', { attempts: [cancelled] }],
    ['unknown', { deliveries: [made({ routedAt: second(-3_600) })] }],
  ])('%s', async (state, given) => {
    const { ask } = listing(given)
    const { json } = await ask({ url: '/api/deliveries' })
    expect(json.items.map((each: { state: string }) => each.state)).toEqual([state])
    expect((await ask({ url: `/api/deliveries?state=${state}` })).json.items).toHaveLength(1)
    const other = state === 'waiting' ? 'delivered' : 'waiting'
    expect((await ask({ url: `/api/deliveries?state=${other}` })).json.items).toEqual([])
  })

  test('that of the delivery now, even if a replay has delivered it, and a replay starts anew', async () => {
    const replayed = second(100)
    const deliveries = [made({ replay: true, routedAt: replayed }), made()]
    const dead = [made({ deadReason: 'rejected', deadAt: second(2) })]
    const states = async (attempts: Attempt[]) => {
      const { json } = await listing({ deliveries, dead, attempts }).ask({ url: '/api/deliveries' })
      return json.items.map((each: { id: string; state: string }) => `${each.id} ${each.state}`)
    }
    expect(await states([rejected])).toEqual(['r3-0 waiting', 'd3-1 rejected'])
    expect(await states([rejected, attempt({ startedAt: replayed + 5 })])).toEqual([
      'r3-0 delivered',
      'd3-1 delivered',
    ])
  })
})

test('deliveries whose attempts are not known are counted, as the filter had to leave them out', async () => {
  const deliveries = [made({ routedAt: second(-3_600) }), made({ deliveryId: 'other' })]
  const { ask } = listing({ deliveries })
  expect((await ask({ url: '/api/deliveries?status=404' })).json).toMatchObject({ items: [], unknown: 1 })
  expect((await ask({ url: '/api/deliveries?state=unknown' })).json).toMatchObject({ unknown: 0 })
})

test('attempts that are no longer in memory are looked for in their topic, all at once', async () => {
  const old = second(-3_600)
  const deliveries = ['a', 'b'].map((id) => made({ deliveryId: id, routedAt: old }))
  const traced: string[][] = []
  const { ask } = listing(
    { deliveries },
    {
      async trace(incomplete) {
        traced.push(incomplete.map((each) => each.deliveryId))
        return new Map([['b', [attempt({ deliveryId: 'b', startedAt: old + 5 })]]])
      },
    },
  )
  const { json } = await ask({ url: '/api/deliveries?state=delivered' })
  expect(traced).toEqual([['a', 'b']])
  expect(json).toMatchObject({ items: [{ deliveryId: 'b' }], unknown: 1 })
})

test('an old delivery that the deliverer has not reached is waiting', async () => {
  const deliveries = ['a', 'b'].map((id) => made({ deliveryId: id, routedAt: second(-3_600) }))
  const listed: Listed[] = []
  const { ask } = listing(
    { deliveries },
    {
      deliveries: {
        search: async (_, { select }) => {
          listed.push(...deliveries.map((each) => listedOf(each, 'crm/u1', entry)))
          const selected = await select?.(listed)
          return { items: listed.filter((each) => selected?.has(each)), next: null, searchedSince: null }
        },
        read: async () => undefined,
        unsettled: async (all) => new Set(all.filter((each) => each.deliveryId === 'b')),
      },
    },
  )
  const { json } = await ask({ url: '/api/deliveries?state=waiting' })
  expect(json).toMatchObject({ items: [{ deliveryId: 'b', state: 'waiting' }], unknown: 1 })
})

describe('one delivery', () => {
  const read = (delivery: Delivery) => async (place: Entry) => ({
    listed: listedOf(delivery, 'crm/u1', place) satisfies Listed,
    delivery,
  })
  const search = () => undefined

  test('has its attempts, its next one, its body and its requests, without secrets', async () => {
    const { ask } = listing({ attempts: [failed] }, { deliveries: { search, read: read(made()), unsettled } })
    const { status, json, text } = await ask({ url: '/api/deliveries/d3-1042' })
    expect([status, json]).toMatchObject([
      200,
      {
        id: 'd3-1042',
        state: 'retrying',
        nextAttemptAt: iso(second(6) + 12),
        attempts: [{ status: 503, code: 'http_5xx' }],
        dead: null,
        body,
        requests: [
          {
            urlIndex: 0,
            url: 'https://crm.example/hook',
            headers: {
              'User-Agent': 'Sluice/1.0',
              'Content-Type': 'application/json',
              'X-Team': '***',
              'X-Delivery-Id': deliveryId,
              'X-Attempt': '1',
              'X-Signature': '***',
            },
          },
        ],
      },
    ])
    expect(text).not.toMatch(/header-secret|shared-secret/)
  })

  test('has its first attempts too, if only later ones are in memory', async () => {
    const old = made({ routedAt: second(-3_600) })
    const first = attempt({ startedAt: second(-3_600), outcome: 'retry', status: 500, code: 'http_5xx' })
    const { ask } = listing(
      { attempts: [attempt({ attempt: 2 })] },
      {
        deliveries: { search, read: read(old), unsettled },
        trace: async () => new Map([[deliveryId, [first]]]),
      },
    )
    const { json } = await ask({ url: '/api/deliveries/d3-1042' })
    expect(json).toMatchObject({
      state: 'delivered',
      attempts: [{ attempt: 1, status: 500 }, { attempt: 2 }],
    })
  })

  test('shows the view token no path of a URL, which may be a secret', async () => {
    const { ask } = listing({}, { deliveries: { search, read: read(made()), unsettled } })
    const { text, json } = await ask({ url: '/api/deliveries/d3-1042', token: VIEW })
    expect(json.requests[0].url).toBe('https://crm.example/***')
    expect(text).not.toContain('/hook')
  })

  test('of a deleted destination has no request', async () => {
    const gone = made({ destinationId: 'gone' })
    const { ask } = listing({}, { deliveries: { search, read: read(gone), unsettled } })
    expect((await ask({ url: '/api/deliveries/d3-1042' })).json).toMatchObject({ requests: [], body })
  })

  test.each(['d3-1043', 'x', 'd3-99999999999999999999'])('%s is not found', async (id) => {
    const { status, json } = await listing().ask({ url: `/api/deliveries/${id}` })
    expect([status, json.code]).toEqual([404, 'not_found'])
  })
})

test('a search for a user is audited without the id', async () => {
  const { ask, lines } = listing()
  await ask({ url: '/api/deliveries?user=ann%40example.com' })
  expect(lines.join()).toContain('"what":"search"')
  expect(lines.join()).not.toContain('ann@')
})

test.each([
  ['?state=tired', '/state', 'invalid_value'],
  ['?status=40', '/status', 'invalid_format'],
  ['?event=', '/event', 'too_short'],
  ['?limit=101', '/limit', 'too_big'],
  ['?cursor=x', '/cursor', 'invalid_format'],
  ['?reason=rejected', '/reason', 'unknown_field'],
])('%s is refused', async (query, pointer, code) => {
  const { status, json } = await listing().ask({ url: `/api/deliveries${query}` })
  expect([status, json.errors]).toMatchObject([400, [{ pointer, code }]])
})

test('one search too many gets 429, and Kafka away 503', async () => {
  const read = async () => undefined
  const many = listing({}, { deliveries: { search: () => undefined, read, unsettled } })
  expect(await many.ask({ url: '/api/deliveries' })).toMatchObject({
    status: 429,
    json: { code: 'too_many_searches' },
  })
  const away = listing(
    {},
    { deliveries: { search: () => Promise.reject(new Error('no broker')), read, unsettled } },
  )
  expect(await away.ask({ url: '/api/deliveries' })).toMatchObject({ status: 503 })
  expect(away.lines.join()).toContain('no broker')
})

test('a dead letter in memory is enough to know that a delivery is dead', async () => {
  const old = { routedAt: second(-3_600), deadAt: second(-3_500), deadReason: 'rejected' }
  const dead = [aDeadOne({ deliveryId, ...old })]
  const { ask } = listing({ deliveries: [made(old)], dead }, {})
  expect((await ask({ url: '/api/deliveries?status=503' })).json.items).toMatchObject([{ state: 'rejected' }])
})
