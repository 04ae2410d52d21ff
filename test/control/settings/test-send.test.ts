import { describe, expect, test } from 'vitest'
import { sampleEvent } from '../../../control/settings/test-call.ts'
import { ruledPosting } from '../../../control/settings/test-rules.ts'
import { createTestSends } from '../../../control/settings/test-send.ts'
import type { Outcome } from '../../../delivery/outcome.ts'
import type { Poster } from '../../../delivery/post/post.ts'
import type { Request } from '../../../delivery/request.ts'
import { type Destination, EVENT_TYPES } from '../../../settings/settings.ts'
import { until } from '../../helpers/until.ts'
import { api, VIEW } from '../api.ts'
import { crm } from '../in-memory.ts'

const asked = { method: 'POST', url: '/api/destinations/crm/test', body: {} }
const OK: Outcome = { outcome: 'delivered', status: 200 }
const HEAD = { 'content-type': 'text/plain', 'x-echo': 'header-secret', 'set-cookie': ['a=1', 'b=2'] }

/** POSTs wait for `ends`, or are answered `atOnce`. Closing the poster ends them, as in the real one. */
function aNetwork({ atOnce }: { atOnce: boolean }) {
  const requests: Request[] = []
  const ends: (() => void)[] = []
  const opened: { closed: boolean }[] = []

  function openPoster(): Poster {
    const state = { closed: false }
    const aborts: (() => void)[] = []
    opened.push(state)
    return {
      post(request, listener) {
        let over = false
        function end(outcome: Outcome, response: string | null): void {
          if (over) return
          over = true
          if (outcome === OK) listener.onHead?.({ status: 200, headers: HEAD })
          listener.onOutcome(outcome, 7, true)
          listener.onEnd(response)
        }
        requests.push(request)
        aborts.push(() => end({ outcome: 'retry', code: 'aborted' }, null))
        if (atOnce) end(OK, 'thanks')
        else ends.push(() => end(OK, 'thanks'))
      },
      async close() {
        state.closed = true
        for (const abort of aborts) abort()
      },
    }
  }
  return { openPoster, requests, ends, opened, endAll: () => ends.forEach((end) => void end()) }
}

function aTestedApi(destination = crm, { atOnce = true } = {}) {
  const network = aNetwork({ atOnce })
  return { ...network, ...api({ destinations: [destination] }, { openPoster: network.openPoster }) }
}

const UNREAD = { kind: 'destination', id: 'crm', reason: 'unknown field x', since: 0 } as const

describe('a test send', () => {
  test.each([
    [
      true,
      'The newest record of destination crm cannot be read (unknown field x): save it again, or remove it',
    ],
    [
      false,
      'The record of destination crm cannot be read (unknown field x): create it again under this id, or remove it',
    ],
  ])('is refused while the record cannot be read (previous version known: %s)', async (isKept, message) => {
    const { openPoster, requests } = aNetwork({ atOnce: true })
    const stored = { destinations: isKept ? [crm] : [], unreadable: [{ ...UNREAD, isKept }] }
    const { ask } = api(stored, { openPoster })
    const { status, json } = await ask(asked)
    expect([status, json, requests]).toMatchObject([409, { code: 'setting_unreadable', message }, []])
  })

  test('posts a sample to each URL with its headers, and returns the results in order', async () => {
    const webhooks = ['b', 'a'].map((host) => ({
      url: `https://${host}.example/?t=1`,
      headers: { 'X-A': host },
    }))
    const { ask, requests, ends } = aTestedApi({ ...crm, webhooks }, { atOnce: false })
    const answer = ask(asked)
    await until(() => ends.length === 2)
    ends.reverse().forEach((end) => void end())
    const of = { outcome: 'delivered', status: 200, durationMs: 7, code: null, response: 'thanks' }
    const { status, json } = await answer
    expect([status, json]).toMatchObject([200, { results: webhooks.map(({ url }) => ({ url, ...of })) }])
    expect(requests.map(({ headers }) => headers['X-A'])).toEqual(['b', 'a'])
    expect(new Set(requests.map(({ headers }) => headers['X-Delivery-Id'])).size).toBe(1)
    expect(requests[0]?.headers).toMatchObject({ 'X-Attempt': '1', 'X-Signature': expect.any(String) })
  })

  test('shows the request with its signature, and configured headers and echoed secrets masked', async () => {
    const { ask, requests } = aTestedApi({ ...crm, standardWebhooks: true })
    const [result] = (await ask(asked)).json.results
    const { headers = {}, body = '' }: Partial<Request> = requests[0] ?? {}
    expect(result).toMatchObject({
      sent: true,
      responseHeaders: { 'content-type': 'text/plain', 'x-echo': '***', 'set-cookie': 'a=1, b=2' },
      request: { body },
    })
    expect(Object.entries(result.request.headers)).toEqual([
      ['Host', 'crm.example'],
      ['Connection', 'keep-alive'],
      ...Object.entries({ ...headers, 'X-Team': '***' }),
      ['Content-Length', String(Buffer.byteLength(body))],
    ])
    expect(result.request.headers['webhook-signature']).toBe(headers['webhook-signature'])
    expect(JSON.stringify(result)).not.toMatch(/header-secret|shared-secret/)
  })

  test.each([[undefined], [{}], [{ type: 'track' }]])('is of type track for the body %j', async (body) => {
    const { ask, requests } = aTestedApi()
    expect(await ask({ ...asked, body })).toMatchObject({ status: 200 })
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ type: 'track' })
  })

  test('has the requested type, whatever types the destination takes, even while it is off', async () => {
    const { ask, requests } = aTestedApi({ ...crm, enabled: false, eventTypes: ['track'] })
    expect(await ask({ ...asked, body: { type: 'delete' } })).toMatchObject({ status: 200 })
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ type: 'delete' })
  })

  test('sends the given call, as a delivery of it would be', async () => {
    const { ask, requests } = aTestedApi()
    const call = {
      type: 'page',
      userId: 7,
      name: 'Home',
      traits: { path: '/' },
      timestamp: '2026-01-02T03:04:05Z',
    }
    expect(await ask({ ...asked, body: { call } })).toMatchObject({ status: 200 })
    expect(requests[0]?.body).toBe(
      '{"version":1,"type":"page","userId":"7","properties":{"path":"/","name":"Home"},"timestamp":"2026-01-02T03:04:05.000Z","context":{}}',
    )
    expect(requests[0]?.headers['X-Message-Id']).toMatch(/^test-/)
  })

  test('is one log line: who, where to, and the outcome, without URLs or secrets', async () => {
    const webhooks = ['a', 'b'].map((host) => ({
      url: `https://${host}.example/?token=secret-query`,
      headers: { 'X-A': 'secret-header' },
    }))
    const { ask, ends, endAll, lines, topic } = aTestedApi({ ...crm, webhooks }, { atOnce: false })
    const answer = ask(asked)
    await until(() => ends.length === 2)
    endAll()
    await answer
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        audit: true,
        who: 'admin',
        what: 'test',
        id: 'crm',
        type: 'track',
        outcomes: ['delivered', 'delivered'],
      },
    ])
    expect(lines.join()).not.toMatch(/secret|example/)
    expect(topic.size).toBe(0)
  })

  test('opens its own connections and leaves none open', async () => {
    const { ask, ends, endAll, opened } = aTestedApi(crm, { atOnce: false })
    for (const time of [1, 2]) {
      const answer = ask(asked)
      await until(() => ends.length === time)
      expect(opened).toEqual([...Array(time - 1).fill({ closed: true }), { closed: false }])
      endAll()
      await answer
    }
    expect(opened).toEqual([{ closed: true }, { closed: true }])
  })
})

describe('is refused, and nothing is sent', () => {
  const crmTest = asked.url
  test.each([
    ['for an unknown destination', { ...asked, url: '/api/destinations/nope/test' }, 404, 'not_found', []],
    [
      'for an unknown type',
      { ...asked, body: { type: 'tracks' } },
      400,
      'validation_failed',
      [{ pointer: '/type', code: 'invalid_value', message: expect.stringContaining('"delete"') }],
    ],
    [
      'for a type that is no text',
      { ...asked, body: { type: null } },
      400,
      'validation_failed',
      [{ pointer: '/type', code: 'invalid_value' }],
    ],
    [
      'for a field that there is not',
      { ...asked, body: { type: 'page', url: 'https://x.example/' } },
      400,
      'validation_failed',
      [{ pointer: '/url', code: 'unknown_field' }],
    ],
    [
      'for a type beside a call',
      { ...asked, body: { type: 'page', call: { type: 'page', userId: 'u' } } },
      400,
      'validation_failed',
      [{ pointer: '/type', code: 'invalid_value' }],
    ],
    [
      'for a call of another type',
      { ...asked, body: { call: { type: 'delete', userId: 'u' } } },
      400,
      'validation_failed',
      [{ pointer: '/call/type', code: 'invalid_value' }],
    ],
    [
      'for a call without what its type needs',
      { ...asked, body: { call: { type: 'track', userId: 'u' } } },
      400,
      'validation_failed',
      [{ pointer: '/call/event', code: 'invalid_value' }],
    ],
    [
      'for a misspelt field of a call',
      { ...asked, body: { call: { type: 'page', userId: 'u', propertys: {} } } },
      400,
      'validation_failed',
      [{ pointer: '/call/propertys', code: 'unknown_field' }],
    ],
    [
      'for a call of more than 32 KB',
      { ...asked, body: { call: { type: 'page', userId: 'u', name: 'n'.repeat(32_768) } } },
      400,
      'validation_failed',
      [{ pointer: '/call', code: 'invalid_value' }],
    ],
    ['for a body that is no object', { ...asked, body: [] }, 400, 'validation_failed', [{ pointer: '' }]],
    ['for null', { ...asked, body: 'null' }, 400, 'validation_failed', [{ pointer: '' }]],
    ['for the view token', { ...asked, token: VIEW }, 403, 'read_only', []],
    ['without a token', { ...asked, token: '' }, 401, 'unauthorized', []],
    ['with another method', { method: 'GET', url: crmTest }, 405, 'method_not_allowed', []],
  ])('%s', async (_, request, status, code, errors) => {
    const { ask, requests, opened } = aTestedApi()
    expect(await ask(request)).toMatchObject({ status, json: { code, errors } })
    expect([requests, opened]).toEqual([[], []])
  })
})

describe('concurrent test sends', () => {
  test('ten may run; the next is refused until one of them ends', async () => {
    const { ask, ends, endAll, opened } = aTestedApi(crm, { atOnce: false })
    const answers = Array.from({ length: 10 }, () => ask(asked))
    await until(() => ends.length === 10)
    const refused = { status: 429, headers: { 'retry-after': '1' }, json: { code: 'too_many_tests' } }
    expect(await ask(asked)).toMatchObject(refused)
    ends.shift()?.()
    expect(await Promise.race(answers)).toMatchObject({ status: 200 })
    const eleventh = ask(asked)
    await until(() => ends.length === 10)
    endAll()
    for (const each of [...answers, eleventh]) expect(await each).toMatchObject({ status: 200 })
    expect(opened.map(({ closed }) => closed)).toEqual(Array(11).fill(true))
  })

  test('a destination with several URLs counts as one', async () => {
    const webhooks = Array.from({ length: 5 }, (_, index) => ({
      url: `https://${index}.example/`,
      headers: {},
    }))
    const { ask, ends, endAll } = aTestedApi({ ...crm, webhooks }, { atOnce: false })
    const answers = Array.from({ length: 10 }, () => ask(asked))
    await until(() => ends.length === 50)
    endAll()
    for (const each of answers) expect(await each).toMatchObject({ status: 200 })
  })
})

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const timestamp = '2026-01-02T03:04:05.678Z'
const of = (type: (typeof EVENT_TYPES)[number], uuid = 'f00d') =>
  ruledPosting(sampleEvent(type, { uuid, now, sourceId: 'shop' }), crm).posting ??
  expect.fail('the rules have failed')
const bodyOf = (type: (typeof EVENT_TYPES)[number]) => JSON.parse(of(type).body)

describe('at the end', () => {
  const one = { destination: crm, posting: of('track'), now }

  test('test sends in progress end at once as aborted, and none starts', async () => {
    const { openPoster, opened } = aNetwork({ atOnce: false })
    const testSends = createTestSends(openPoster)
    const underWay = [testSends.begin(one), testSends.begin(one)]
    await testSends.close()
    const aborted = { outcome: 'retry', status: null, code: 'aborted', response: null }
    expect(await Promise.all(underWay)).toMatchObject([[aborted], [aborted]])
    expect(testSends.begin(one)).toBeUndefined()
    expect(opened).toEqual([{ closed: true }, { closed: true }])
  })
})

describe('the sample of a type', () => {
  test.each([
    ['identify', ['version', 'type', 'userId', 'traits', 'timestamp', 'context']],
    ['track', ['version', 'type', 'userId', 'event', 'properties', 'timestamp', 'context']],
    ['page', ['version', 'type', 'userId', 'properties', 'timestamp', 'context']],
    ['screen', ['version', 'type', 'userId', 'name', 'timestamp', 'context']],
    ['group', ['version', 'type', 'groupId', 'userId', 'traits', 'timestamp', 'context']],
    ['alias', ['version', 'type', 'Previous ID', 'User ID', 'timestamp', 'context']],
    ['delete', ['type', 'userId', 'timestamp']],
  ] as const)('%s has the keys of its contract, in their order, all of them filled', (type, keys) => {
    const body = bodyOf(type)
    expect(Object.keys(body)).toEqual(keys)
    expect(body).toMatchObject({ type, timestamp })
    for (const value of Object.values(body)) expect(value).not.toEqual({})
  })

  test('screen has the context of a phone: device, system, app', () => {
    const text = expect.any(String)
    expect(bodyOf('screen').context).toEqual({
      device: { model: text, type: text },
      os: { name: text, version: text },
      app: { build: text, name: text, version: text },
    })
  })

  test('a page sample has the four properties of a page', () => {
    expect(Object.keys(bodyOf('page').properties)).toEqual(['path', 'referrer', 'title', 'url'])
  })

  test.each(EVENT_TYPES)('a sample of %s has made-up ids', (type) => {
    const names = ['userId', 'groupId', 'User ID', 'Previous ID']
    const ids = Object.entries(bodyOf(type)).filter(([name]) => names.includes(name))
    expect(ids).not.toEqual([])
    for (const [, id] of ids) expect(id).toMatch(/^test-/)
    expect(of(type).messageId).toBe('test-f00d')
  })

  test.each(EVENT_TYPES)('%s is exactly what JSON.stringify prints of it', (type) => {
    expect(JSON.stringify(bodyOf(type))).toBe(of(type).body)
  })

  test('has a unique id, so that no receiver takes it for a duplicate', () => {
    const ids = [of('track'), of('track', 'beef')].map(({ deliveryId }) => deliveryId)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(of('track').replay).toBe(false)
  })
})

describe('a test send to a destination with rules', () => {
  const ruled = (rules: NonNullable<Destination['rules']>) => ({
    ...crm,
    rules,
    hashKey: 'a-hash-key-of-this-test',
  })
  const bodyOf = ({ body }: Request) => JSON.parse(body)

  test('redacts and shapes the sample', async () => {
    const rules = {
      redact: [{ path: 'userId', as: 'drop' as const }],
      shape: { user: '{{userId | default: "none"}}' },
    }
    const { ask, requests } = aTestedApi(ruled(rules))
    const { json } = await ask(asked)
    expect(json.rules).toEqual({ outcome: 'sent', condition: null, message: null })
    expect(requests.map(bodyOf)).toEqual([{ user: 'none' }])
  })

  test('ignores filter and sample, and says what they would decide', async () => {
    const filter = { path: 'event', eq: 'Paid' }
    const { ask, requests } = aTestedApi(ruled({ filter, shape: { event: '{{event}}' } }))
    expect((await ask(asked)).json).toMatchObject({
      rules: { outcome: 'filtered', condition: '/filter' },
      results: [{ outcome: 'delivered' }],
    })
    expect(requests.map(bodyOf)).toEqual([{ event: 'Test Event' }])
    const sampled = aTestedApi(ruled({ sample: { rate: 0 } }))
    expect((await sampled.ask(asked)).json.rules.outcome).toBe('sampled_out')
  })

  test('comes from the first of its sources', async () => {
    const rules = { filter: { path: 'sourceId', eq: 'app' }, shape: { from: '{{sourceId}}' } }
    const { ask, requests } = aTestedApi({ ...ruled(rules), sourceIds: ['app', 'web'] })
    expect((await ask(asked)).json.rules.outcome).toBe('sent')
    expect(requests.map(({ body }) => body)).toEqual(['{"from":"app"}'])
  })

  test('sends nothing if the rules fail', async () => {
    const shape = Array.from({ length: 20 }, () => '{{properties.text}}')
    const call = { type: 'track', userId: 'u1', event: 'Paid', properties: { text: 'x'.repeat(20_000) } }
    const { ask, requests } = aTestedApi(ruled({ shape }))
    const { json } = await ask({ ...asked, body: { call } })
    expect(json).toMatchObject({
      results: [],
      rules: { outcome: 'failed', message: expect.stringContaining('256 KB') },
    })
    expect(requests).toEqual([])
  })
})
