import { describe, expect, test } from 'vitest'
import { createFigures } from '../../../control/activity/figures/figures.ts'
import { createHealth } from '../../../control/activity/health/health.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { api, VIEW } from '../api.ts'
import { anAttempt, attemptsHeld } from '../attempts-in-memory.ts'
import { deadHeld } from '../dead-in-memory.ts'
import { crm as recentCrm } from '../in-memory.ts'

const now = Date.parse('2026-01-02T03:04:05.678Z')
/** Changed long before the attempts. */
const crm = { ...recentCrm, updatedAt: '2026-01-01T00:00:00.000Z' }
const erp = {
  ...crm,
  id: 'erp',
  webhooks: [
    { url: 'https://erp.example/a', headers: {} },
    { url: 'https://erp.example/b', headers: {} },
  ],
}
const failed = (fields: Partial<Attempt> = {}) =>
  anAttempt({ outcome: 'retry', status: 503, code: 'http_5xx', response: 'sorry', ...fields })

/** Both get the same attempts. */
function healthOf(...all: (typeof crm)[]) {
  const figures = createFigures(() => now)
  const destinations = new Map(all.map((each) => [each.id, each]))
  const health = createHealth({ destinations, figures, now: () => now })
  return {
    ...health,
    deadLetter: (letter: { destinationId: string; time: number }) =>
      figures.deadLetter({ reason: 'window_expired', ...letter }),
    attempt(attempt: Attempt) {
      figures.attempt(attempt)
      health.attempt(attempt)
    },
  }
}

function held(attempts: readonly Attempt[] = [], before: readonly Attempt[] = []) {
  const health = healthOf(crm, erp)
  for (const attempt of before) health.attempt(attempt)
  health.begin(before)
  for (const attempt of attempts) health.attempt(attempt)
  return health
}

const ask = (health: ReturnType<typeof held>, url: string, token?: string) =>
  api({ destinations: [crm, erp] }, { health }).ask({ url, ...(token && { token }) })

test('a destination without activity has sixty empty minutes, and its breakers are unknown', async () => {
  const { status, json } = await ask(held(), '/api/destinations/crm/health', VIEW)
  expect(status).toBe(200)
  expect(json.minutes).toHaveLength(60)
  expect(json.minutes.at(-1)).toEqual({
    at: '2026-01-02T03:04:00.000Z',
    delivered: 0,
    rejected: 0,
    retry: 0,
    refused: 0,
    deferred: 0,
    dead: 0,
    p50: null,
    p99: null,
  })
  expect(json.endpoints).toEqual([
    { urlIndex: 0, state: 'idle', breaker: 'unknown', since: null, lastError: null, lastDeliveredAt: null },
  ])
})

test('POSTs count by outcome, dead deliveries count, and each webhook has its last error', async () => {
  const health = held([
    anAttempt({ startedAt: now - 1_000, durationMs: 10 }),
    failed({ startedAt: now - 900 }),
    failed({ startedAt: now - 800, status: 500, response: null }),
    anAttempt({ startedAt: now - 700, outcome: 'deferred', code: 'queue_full', durationMs: 0 }),
    anAttempt({
      startedAt: now - 600,
      outcome: 'refused',
      code: 'tls_expired',
      status: null,
      destinationId: 'erp',
      urlIndex: 1,
    }),
    anAttempt({ startedAt: now - 500, outcome: 'cancelled', urlIndex: null, destinationId: 'erp' }),
  ])
  health.deadLetter({ destinationId: 'crm', time: now })
  const { json } = await ask(health, '/api/destinations/crm/health')
  expect(json.now).toEqual({
    delivered: 1,
    rejected: 0,
    retry: 2,
    refused: 0,
    deferred: 1,
    dead: 1,
    p50: 12,
    p99: 12,
  })
  expect(json.minutes.at(-1)).toMatchObject({ delivered: 1, retry: 2, deferred: 1, dead: 1 })
  expect(json.endpoints).toEqual([
    {
      urlIndex: 0,
      state: 'failing',
      breaker: 'closed',
      since: null,
      lastError: { code: 'http_5xx', status: 500, at: '2026-01-02T03:04:04.878Z', response: null },
      lastDeliveredAt: '2026-01-02T03:04:04.678Z',
    },
  ])
  const other = await ask(health, '/api/destinations/erp/health')
  expect(other.json.now).toMatchObject({ delivered: 0, refused: 1, deferred: 0 })
  expect(other.json.endpoints).toMatchObject([
    { urlIndex: 0, lastError: null },
    { urlIndex: 1, lastError: { code: 'tls_expired', status: null } },
  ])
})

test('a late attempt does not hide a newer one', async () => {
  const health = held([failed({ startedAt: now, code: 'timeout' }), failed({ startedAt: now - 1 })])
  const { json } = await ask(health, '/api/destinations/crm/health')
  expect(json.endpoints).toMatchObject([{ lastError: { code: 'timeout' } }])
})

test('all destinations are reported at once, with the worst breaker of each', async () => {
  const open = Array.from({ length: 5 }, (_, each) =>
    failed({ startedAt: now - 100 + each, destinationId: 'erp' }),
  )
  const health = held([...open, anAttempt({ startedAt: now })])
  expect((await ask(health, '/api/health', VIEW)).json).toMatchObject({
    items: [
      { destinationId: 'crm', delivered: 1, breaker: 'closed' },
      // both of its webhooks have the same origin
      { destinationId: 'erp', retry: 5, breaker: 'open' },
    ],
  })
})

test('attempts from before the settings were loaded count for breakers too', async () => {
  const open = Array.from({ length: 5 }, (_, each) => failed({ startedAt: now - 100 + each }))
  const { json } = await ask(held([], open), '/api/destinations/crm/health')
  expect(json).toMatchObject({ now: { retry: 5 }, endpoints: [{ breaker: 'open' }] })
})

test('an attempt from before the settings were loaded counts once', async () => {
  const few = Array.from({ length: 3 }, (_, each) => failed({ startedAt: now - 100 + each }))
  const { json } = await ask(held([], few), '/api/destinations/crm/health')
  expect(json.endpoints).toMatchObject([{ breaker: 'closed' }])
})

test('the health of an unknown destination is 404', async () => {
  expect(await ask(held(), '/api/destinations/gone/health')).toMatchObject({
    status: 404,
    json: { code: 'not_found', message: 'There is no destination gone' },
  })
})

test('when attempts or dead letters could not be read for a while, old state is not reported as current', async () => {
  for (const parts of [attemptsHeld([], { isFresh: () => false }), deadHeld([], { isFresh: () => false })]) {
    const { ask, app, close } = api({ destinations: [crm] }, parts)
    await app.ready()
    for (const url of ['/api/health', '/api/destinations/crm/health'])
      expect(await ask({ url })).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    const stream = ask({ url: '/api/health/stream' })
    await ask({ url: '/api/health' })
    await close()
    expect((await stream).text).toContain('event: unavailable\ndata: {"event":"health"}')
  }
})

test.each([
  ['while it is followed', true],
  ['before the start', false],
])('what a clock that is ahead tells %s is of now: the next answer is newer', async (_, isFollowed) => {
  const ahead = Array.from({ length: 5 }, () => failed({ startedAt: now + 600_000 }))
  const health = isFollowed ? held(ahead) : held([], ahead)
  health.deadLetter({ destinationId: 'crm', time: now + 600_000 })
  const endpoint = async () => (await ask(health, '/api/destinations/crm/health')).json.endpoints[0]
  expect(await endpoint()).toMatchObject({
    breaker: 'open',
    since: expect.stringMatching(/^2026-01-02T03:04:05/),
    lastError: { at: '2026-01-02T03:04:05.678Z' },
  })
  const { json } = await ask(health, '/api/destinations/crm/health')
  expect(json.now).toMatchObject({ retry: 5, dead: 1 })
  health.attempt(anAttempt({ startedAt: now, durationMs: 20 }))
  expect(await endpoint()).toMatchObject({ breaker: 'closed' })
})

const rejected = (fields: Partial<Attempt> = {}) =>
  anAttempt({ outcome: 'rejected', status: 404, code: 'http_404', response: 'no such path', ...fields })

test('a webhook whose last answer was 3xx or 4xx is rejecting, shows that status, and has a closed breaker', async () => {
  const health = held([anAttempt({ startedAt: now - 900 }), rejected({ startedAt: now - 800 })])
  const { json } = await ask(health, '/api/destinations/crm/health')
  expect(json.now).toMatchObject({ delivered: 1, rejected: 1, retry: 0 })
  expect(json.endpoints).toMatchObject([
    {
      state: 'rejecting',
      breaker: 'closed',
      lastError: { code: 'http_404', status: 404, response: 'no such path' },
    },
  ])
  const { json: overview } = await ask(health, '/api/health')
  expect(overview.items).toMatchObject([
    { destinationId: 'crm', rejected: 1, state: 'rejecting' },
    { state: 'idle' },
  ])
  health.attempt(anAttempt({ startedAt: now - 700 }))
  expect((await ask(health, '/api/destinations/crm/health')).json.endpoints).toMatchObject([
    { state: 'healthy' },
  ])
})

describe('a webhook that fails some of its POSTs does not change its state with each of them', () => {
  /** After each POST; one every 100 ms. */
  function statesOf(posts: readonly ('ok' | 'failed' | 'rejected')[]) {
    let time = now - posts.length * 100
    const figures = createFigures(() => time)
    const health = createHealth({ destinations: new Map([[crm.id, crm]]), figures, now: () => time })
    health.begin([])
    return posts.map((post) => {
      time += 100
      const made = { ok: anAttempt, failed, rejected }[post]
      health.attempt(made({ startedAt: time, durationMs: 1 }))
      return health.lastMinute(crm).state
    })
  }
  const times = <T>(count: number, each: readonly T[]) => Array.from({ length: count }, () => each).flat()

  test.each(['failed', 'rejected'] as const)('every second one %s: it is in trouble throughout', (post) => {
    const state = post === 'failed' ? 'failing' : 'rejecting'
    // the first ones may be accidents
    expect(new Set(statesOf(times(30, [post, 'ok'])).slice(6))).toEqual(new Set([state]))
  })

  test('one in twenty: it is healthy throughout', () => {
    const posts = [
      ...times(19, ['ok' as const]),
      ...times(5, ['failed' as const, ...times(19, ['ok' as const])]),
    ]
    expect(new Set(statesOf(posts))).toEqual(new Set(['healthy']))
  })

  test('when all fail, it is failing after a few; when all succeed again, it is healthy after a few', () => {
    const states = statesOf([
      ...times(20, ['ok' as const]),
      ...times(4, ['failed' as const]),
      ...times(20, ['ok' as const]),
    ])
    expect([states[19], states[23], states.at(-1)]).toEqual(['healthy', 'failing', 'healthy'])
  })

  test.each([
    [2, 1_000, 'healthy'],
    [3, 1_000, 'failing'],
    [3, 29_999, 'failing'],
    [3, 30_000, 'healthy'],
  ])('when %d have failed, the last one %d ms before a success, it is %s', (count, agoMs, state) => {
    const health = healthOf(crm)
    health.begin([])
    for (let each = 0; each < count; each++) health.attempt(failed({ startedAt: now - agoMs }))
    health.attempt(anAttempt({ startedAt: now }))
    expect(health.lastMinute(crm).state).toBe(state)
  })

  test('with little traffic, the last POST decides', () => {
    const health = healthOf(crm)
    health.begin([])
    const state = () => health.lastMinute(crm).state
    for (let each = 20; each > 4; each--) health.attempt(anAttempt({ startedAt: now - each * 40_000 }))
    health.attempt(failed({ startedAt: now - 3 * 40_000 }))
    health.attempt(failed({ startedAt: now - 2 * 40_000 }))
    health.attempt(failed({ startedAt: now - 40_000 }))
    expect(state()).toBe('failing')
    health.attempt(anAttempt({ startedAt: now }))
    expect(state()).toBe('healthy')
  })
})

test('two destinations with the same URL are two webhooks: the breaker of one says nothing about the other', () => {
  const twin = { ...crm, id: 'twin' }
  const health = healthOf(crm, twin)
  health.begin([])
  for (let each = 5; each > 0; each--) health.attempt(failed({ startedAt: now - each * 10 }))
  health.attempt(anAttempt({ destinationId: 'twin', startedAt: now - 5 }))
  expect([health.lastMinute(crm), health.lastMinute(twin)]).toMatchObject([
    { breaker: 'open', state: 'failing' },
    { breaker: 'closed', state: 'healthy' },
  ])
})

describe('after a start, a webhook whose attempts are no longer in memory', () => {
  /** @param before attempts that are read at the start @param busy those still in memory */
  function started(before: readonly Attempt[], busy: readonly Attempt[] = []) {
    const health = healthOf(crm, erp)
    for (const attempt of [...before, ...busy]) health.attempt(attempt)
    health.begin(busy)
    return health.lastMinute(crm)
  }
  const busy = Array.from({ length: 50 }, () => anAttempt({ destinationId: 'erp', startedAt: now - 500 }))
  const failures = [5, 4, 3, 2, 1].map((each) => failed({ startedAt: now - 1_000 - each }))
  const deferred = failed({ outcome: 'deferred', status: null, code: 'breaker_open', startedAt: now - 1_000 })

  test.each<[string, Attempt[], object]>([
    ['is healthy', [anAttempt({ startedAt: now - 1_000 })], { breaker: 'closed', state: 'healthy' }],
    ['is failing', failures, { breaker: 'open', state: 'failing' }],
    ['is failing if it was deferred', [deferred], { breaker: 'open', state: 'failing' }],
    ['is idle after 15 minutes', [anAttempt({ startedAt: now - 901_000 })], { state: 'idle' }],
  ])('%s', (_, before, expected) => {
    expect(started(before, busy)).toMatchObject(expected)
  })

  test('is judged by the attempts before those in memory, too', () => {
    expect(started(failures.slice(0, 4), failures.slice(4))).toMatchObject({
      breaker: 'open',
      state: 'failing',
    })
  })

  test('counts attempts that are in memory once', () => {
    const four = failures.slice(1)
    expect(started([], four)).toMatchObject({ breaker: 'closed', state: 'failing' })
  })
})

describe('after a change of the settings', () => {
  /** As health sees them after a change a second ago. */
  function changed(settings: Partial<typeof crm>, { isRestarted = false } = {}) {
    const destinations = new Map([[crm.id, crm]])
    const health = createHealth({ destinations, figures: createFigures(() => now), now: () => now })
    const before = failed({ startedAt: now - 5_000, outcome: 'rejected', status: 401, code: 'http_401' })
    if (!isRestarted) {
      health.begin([])
      health.attempt(before)
    }
    const after = { ...crm, ...settings, updatedAt: new Date(now - 1_000).toISOString() }
    destinations.set(crm.id, after)
    if (isRestarted) {
      health.attempt(before)
      health.begin([before])
    }
    const shown = () => ({ ...health.lastMinute(after), webhooks: health.of(after).endpoints })
    return { health, shown }
  }
  const url = 'https://crm.example/other'

  test('a webhook that keeps its URL keeps its state and its last error, everywhere', () => {
    expect(
      changed({ name: 'Other', webhooks: [{ ...crm.webhooks[0], headers: {} }] as never }).shown(),
    ).toMatchObject({
      state: 'rejecting',
      rejectedStatus: 401,
      webhooks: [{ state: 'rejecting', lastError: { status: 401 } }],
    })
  })

  test('a webhook with another URL is idle until something is sent to it', () => {
    const { health, shown } = changed({ webhooks: [{ url, headers: {} }] })
    const idle = { state: 'idle', webhooks: [{ state: 'idle', lastError: null, lastDeliveredAt: null }] }
    expect(shown()).toMatchObject(idle)
    // on its way to the old URL
    health.attempt(failed({ startedAt: now - 1_500 }))
    expect(shown()).toMatchObject(idle)
    health.attempt(anAttempt({ startedAt: now - 500 }))
    expect(shown()).toMatchObject({ state: 'healthy', webhooks: [{ lastError: null, state: 'healthy' }] })
  })

  test('a control process that starts afterwards ignores attempts from before the change', () => {
    const { health, shown } = changed({}, { isRestarted: true })
    expect(shown()).toMatchObject({ state: 'idle', webhooks: [{ state: 'idle', lastError: null }] })
    health.attempt(failed({ startedAt: now - 500, status: 500 }))
    expect(shown()).toMatchObject({ state: 'failing', webhooks: [{ lastError: { status: 500 } }] })
  })
})

test('a rejecting webhook keeps its state while thousands of other destinations have traffic', () => {
  const all = Array.from({ length: 5_000 }, (_, each) => ({ ...crm, id: `d${each}` }))
  const health = healthOf(...all)
  health.begin([])
  for (const { id: destinationId } of all)
    health.attempt(
      destinationId === 'd0'
        ? failed({ destinationId, outcome: 'rejected', status: 404, code: 'http_404' })
        : anAttempt({ destinationId }),
    )
  expect(all.slice(0, 2).map(health.lastMinute)).toMatchObject([
    { state: 'rejecting', rejectedStatus: 404 },
    { state: 'healthy', rejectedStatus: null },
  ])
})
