import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Problem, SEVERITIES } from '../../../../control/activity/status/problem.ts'
import { problemsOf, type SystemFacts } from '../../../../control/activity/status/problems.ts'
import { createStatus } from '../../../../control/activity/status/routes.ts'
import { api, VIEW } from '../../api.ts'
import { crm, given, shop } from '../../in-memory.ts'
import { aLagItem, lagHeld } from '../../lag-in-memory.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')
const MB = 1024 ** 2

function found(facts: Partial<SystemFacts> = {}): Problem[] {
  const fine: SystemFacts = {
    now: NOW,
    report: { at: NOW, items: [aLagItem()], ends: [], missing: [] },
    windowMs: 20_000,
    silentMs: 1_000,
    settingsBehindMs: 0,
    shortage: undefined,
    rooms: [{ of: 'disk', free: 90_000 * MB, reserve: 2_000 * MB }],
    faults: [],
    unreadable: [],
  }
  return problemsOf({ ...fine, ...facts })
}
const withItems = (...items: Parameters<typeof aLagItem>[0][]) =>
  found({ report: { at: NOW, items: items.map(aLagItem), ends: [], missing: [] } })
const codes = (problems: readonly Problem[]) => problems.map(({ code }) => code)

const lost = {
  kind: 'destination',
  id: 'lost',
  reason: 'it is not a JSON object',
  since: 0,
  isKept: false,
} as const

describe('a consumer group', () => {
  test('that keeps up, or is only behind, is no problem', () => {
    expect(codes(withItems({ status: 'ok' }, { partition: 1, status: 'warn' }))).toEqual([])
  })

  test('that makes no progress is one problem, with its records, its age, what that means and what to do', () => {
    const problems = withItems(
      { status: 'stall', lag: 135, lagSeconds: 45.2 },
      { partition: 1, status: 'stall', lag: 1, lagSeconds: null },
      { partition: 2, status: 'ok', lag: 7 },
    )
    expect(problems).toMatchObject([
      {
        code: 'group_stalled',
        severity: 'error',
        group: 'router',
        page: '/lag',
        message:
          'Consumer group router makes no progress in 2 of its 3 partitions: 136 records wait, the oldest for 45 s. Accepted events are not forwarded.',
        action: expect.stringContaining('Read the log of the router'),
        // no progress since the first observation that counts
        since: NOW - 20_000,
      },
    ])
  })

  test('without a process is stopped, even if other partitions only stall', () => {
    const [problem, ...others] = withItems(
      { group: 'deliverer.due', status: 'stall' },
      { group: 'deliverer.due', partition: 1, status: 'stop', lag: 1 },
    )
    expect(others).toEqual([])
    expect(problem).toMatchObject({
      code: 'group_stopped',
      action: expect.stringMatching(/^Start the deliverer/),
    })
    expect(problem?.message).toMatch(
      /^Consumer group deliverer.due has no responding process for any of its partitions: /,
    )
  })

  test('does not count partitions as stopped or stalled that were only set back', () => {
    const rewound = { partition: 2, status: 'rewind' } as const
    expect(withItems({ status: 'stop', lag: 1 }, { partition: 1, status: 'ok' }, rewound)).toMatchObject([
      { message: expect.stringContaining('no responding process for 1 of its 3 partitions: 1 record waits') },
    ])
    expect(withItems({ status: 'stall', lag: 1 }, rewound)).toMatchObject([
      { message: expect.stringContaining('no progress in 1 of its 2 partitions: 1 record waits') },
    ])
  })

  test('that was set back is a warning: events come again', () => {
    expect(withItems({ status: 'rewind' })).toMatchObject([
      {
        code: 'group_rewound',
        severity: 'warning',
        message: expect.stringMatching(
          /^Consumer group router was set back to an earlier offset in all its partitions: .* may get these events again/,
        ),
      },
    ])
  })

  test('of control concerns its tasks or one replay', () => {
    const problems = withItems(
      { group: 'control.tasks', topic: 'tasks', status: 'stop' },
      { group: 'replay.r1', topic: 'deliveries.dead', status: 'stall' },
    )
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('Deletions, syncs and replays do not proceed.'),
      expect.stringContaining('This replay does not proceed.'),
    ])
    expect(problems.every(({ action }) => action.includes('the control process'))).toBe(true)
  })
})

describe('Kafka', () => {
  const stalled = { at: NOW, items: [aLagItem({ status: 'stall' })], ends: [], missing: [] }

  test('is away after 10 s without settings and without an answer about groups, and groups are then unknown', () => {
    const silent = (ms: number) => found({ silentMs: ms, settingsBehindMs: ms, report: stalled })
    expect(codes(silent(9_999))).toEqual(['group_stalled'])
    expect(silent(10_000)).toMatchObject([{ code: 'kafka_unreachable', since: NOW - 10_000 }])
  })

  test('is away after 30 s without an answer about groups, even if settings still come', () => {
    const silent = (ms: number) => codes(found({ silentMs: ms, report: undefined }))
    expect([silent(29_999), silent(30_000)]).toEqual([[], ['kafka_unreachable']])
  })

  test('answers, but settings are not followed: that is a problem of its own', () => {
    const behind = (ms: number) => found({ settingsBehindMs: ms })
    expect(codes(behind(9_999))).toEqual([])
    expect(behind(10_000)).toMatchObject([{ code: 'settings_outdated', since: NOW - 10_000 }])
  })

  test('without topic events is a problem, which says that the router stops', () => {
    const missing = ['attempts', 'events', 'config', 'deliveries']
    expect(found({ report: { at: NOW, items: [], ends: [], missing } })).toMatchObject([
      {
        code: 'topic_missing',
        message: 'Kafka has no topic events. Calls are refused (503), and nothing is forwarded.',
      },
      {
        code: 'topic_missing',
        message: expect.stringContaining('config. Processes that read or write it'),
      },
      { message: 'Kafka has no topic deliveries. New deliveries are not sent.' },
      { severity: 'warning', message: expect.stringContaining('attempts. Deliveries continue') },
    ])
  })

  test('that is short of space refuses calls; before that, it is low', () => {
    const room = { of: 'disk', free: 100 * MB, reserve: 2_048 * MB } as const
    expect(found({ shortage: room, rooms: [room] })).toMatchObject([
      {
        code: 'storage_full',
        severity: 'error',
        message: expect.stringMatching(/disk has 100 MB left, and 2048 MB are needed. Calls are refused/),
      },
    ])
    expect(found({ shortage: { ...room, of: 'limit' } })).toMatchObject([
      { message: expect.stringContaining('STORAGE_LIMIT') },
    ])
    const low = (free: number) => found({ rooms: [{ ...room, free }] })
    expect(codes(low(3 * 2_048 * MB))).toEqual([])
    expect(low(3 * 2_048 * MB - 1)).toMatchObject([{ code: 'storage_low', severity: 'warning' }])
  })

  test('that is short of space is a problem, but not the retries that wait for it', () => {
    const shortage = { of: 'disk', free: 0, reserve: MB } as const
    const during = (status: 'stall' | 'stop', group: string) =>
      codes(
        found({ shortage, report: { at: NOW, items: [aLagItem({ group, status })], ends: [], missing: [] } }),
      )
    expect(during('stall', 'deliverer.rungs')).toEqual(['storage_full'])
    expect(during('stop', 'deliverer.rungs')).toEqual(['group_stopped', 'storage_full'])
    expect(during('stall', 'deliverer.due')).toEqual(['group_stalled', 'storage_full'])
    expect(codes(withItems({ group: 'deliverer.rungs', status: 'stall' }))).toEqual(['group_stalled'])
  })

  test('that has lost records is reported for an hour, once for each topic', () => {
    const fault = (minutes: number, more: object = {}) => ({
      at: new Date(NOW - minutes * 60_000).toISOString(),
      topic: 'events',
      partition: 0,
      cause: 'truncated',
      from: 5,
      lost: 10,
      unread: 3,
      readTo: null,
      seenBy: ['router'],
      ...more,
    })
    expect(found({ faults: [fault(1), fault(2, { partition: 1 }), fault(60)] })).toMatchObject([
      {
        code: 'records_lost',
        message: expect.stringContaining('lost 20 records of topic events (truncated), 6 unread'),
        since: NOW - 120_000,
      },
    ])
    expect(codes(found({ faults: [fault(1), fault(1, { topic: 'attempts' })] }))).toHaveLength(2)
    expect(found({ faults: [fault(1, { lost: 1, unread: 0 })] })).toMatchObject([
      { message: expect.stringContaining('lost 1 record of topic events (truncated), 0 unread') },
    ])
  })
})

test('of very many unreadable settings, a hundred are listed, and the others counted', () => {
  const many = Array.from({ length: 1_202 }, (_, index) => ({ ...lost, id: `d${index}` }))
  const problems = found({ unreadable: many })
  expect(problems).toHaveLength(101)
  expect(problems.at(-1)).toMatchObject({ message: '1,102 more settings cannot be read.', setting: null })
  expect(found({ unreadable: many.slice(0, 100) })).toHaveLength(100)
})

test('errors come before warnings, and each problem says what is wrong, what to do, and where to look', () => {
  const item = fc.record({
    group: fc.constantFrom('router', 'deliverer', 'deliverer.rungs', 'control.tasks', 'replay.r1'),
    partition: fc.nat(3),
    status: fc.constantFrom('ok', 'warn', 'stall', 'stop', 'rewind'),
    lag: fc.nat(),
    lagSeconds: fc.option(fc.float({ min: 0, max: 1e6, noNaN: true })),
  })
  const facts = fc.record({
    silentMs: fc.nat(60_000),
    settingsBehindMs: fc.nat(60_000),
    report: fc.record({
      at: fc.constant(NOW),
      items: fc.array(item.map(aLagItem)),
      ends: fc.constant([]),
      missing: fc.subarray(['events', 'deliveries', 'config', 'attempts']),
    }),
    rooms: fc.array(fc.record({ of: fc.constantFrom('disk', 'limit'), free: fc.nat(), reserve: fc.nat() })),
    unreadable: fc.subarray([lost, { ...lost, id: 'crm', isKept: true }]),
  })
  fc.assert(
    fc.property(facts, (some) => {
      const problems = found(some as Partial<SystemFacts>)
      const ranks = problems.map(({ severity }) => SEVERITIES.indexOf(severity))
      expect(ranks).toEqual(ranks.toSorted((one, other) => one - other))
      expect(new Set(problems.map(({ subject }) => subject)).size).toBe(problems.length)
      for (const { message, action, since, runbook } of problems) {
        expect(message).toMatch(/^[A-Z].*\.$/)
        expect(message).not.toMatch(/undefined|NaN|Infinity/)
        expect(action).toMatch(/^[A-Z].*\.$/)
        expect(since).toBeLessThanOrEqual(NOW)
        expect(runbook).toMatch(/^sluice[a-z]+$/)
      }
    }),
  )
})

test('a problem keeps its time for as long as it lasts, even if its code changes, and starts over afterwards', () => {
  let now = NOW
  let status: 'ok' | 'stall' | 'stop' = 'stall'
  let isFresh = true
  const latest = () => ({ at: now, items: [aLagItem({ status })], ends: [], missing: [] })
  const { lag, faults } = lagHeld([], { latest, silentMs: () => 1_000 })
  const storage = { shortage: () => undefined, rooms: () => [] }
  const settings = { unreadable: new Map(), isFresh: () => isFresh }
  const { problems } = createStatus({ settings, storage, lag, faults }, () => now)
  const told = () => problems().map(({ code, since }) => [code, since - NOW])
  expect(told()).toEqual([['group_stalled', -20_000]])
  now += 60_000
  status = 'stop'
  expect(told()).toEqual([['group_stopped', -20_000]])
  status = 'ok'
  expect(told()).toEqual([])
  status = 'stall'
  expect(told()).toEqual([['group_stalled', 40_000]])
  status = 'ok'
  isFresh = false
  now += 10_000
  expect(told()).toEqual([['settings_outdated', 60_000]])
})

describe('GET /api/status', () => {
  test('is ok without problems, also for the view token', async () => {
    expect(await api().ask({ url: '/api/status', token: VIEW })).toMatchObject({
      status: 200,
      json: { state: 'ok', problems: [] },
    })
    expect((await api().ask({ url: '/api/status', token: '' })).status).toBe(401)
  })

  test('does not claim that all is well before the groups were observed', async () => {
    const never = {
      loaded: new Promise<void>(() => undefined),
      isLoaded: () => false,
      latest: () => undefined,
    }
    const ask = (silentMs: number) =>
      api({}, { ...lagHeld([], { ...never, silentMs: () => silentMs }), timeoutMs: 1 }).ask({
        url: '/api/status',
      })
    expect(await ask(1_000)).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    expect(await ask(30_000)).toMatchObject({
      status: 200,
      json: { problems: [{ code: 'kafka_unreachable' }] },
    })
  })

  test('answers while Kafka is away', async () => {
    const away = { latest: () => undefined, silentMs: () => 30_000 }
    expect(await api({}, lagHeld([], away)).ask({ url: '/api/status' })).toMatchObject({
      status: 200,
      json: { state: 'error', problems: [{ code: 'kafka_unreachable', page: '/lag' }] },
    })
  })

  test('has an unreadable setting until it is saved again or removed', async () => {
    const other = { ...lost, kind: 'source', id: 'app', isKept: true } as const
    const { ask, topic } = api({ sources: [shop], destinations: [crm], unreadable: [lost, other] })
    const status = async () => (await ask({ url: '/api/status' })).json
    expect(await status()).toMatchObject({
      state: 'warning',
      problems: [
        {
          code: 'setting_unreadable',
          setting: { kind: 'destination', id: 'lost', isKept: false },
          since: '1970-01-01T00:00:00.000Z',
          page: '/destinations',
          runbook: 'ops/runbook.md#sluicesettingunreadable',
        },
        { setting: { kind: 'source', id: 'app', isKept: true }, page: '/sources/app' },
      ],
    })
    expect((await ask({ method: 'DELETE', url: '/api/sources/app' })).status).toBe(204)
    expect(topic.get('source/app')).toBeNull()
    const body = { ...given, id: 'lost' }
    expect((await ask({ method: 'POST', url: '/api/destinations', body })).status).toBe(201)
    expect(await status()).toMatchObject({ state: 'ok', problems: [] })
  })
})

test('an unreadable setting differs from a missing one, and others may refer to it', async () => {
  const app = { ...lost, kind: 'source', id: 'app' } as const
  const { ask } = api({ sources: [shop], unreadable: [lost, app] })
  for (const asked of [{}, { method: 'PUT', headers: { 'if-match': '"1"' }, body: given }])
    expect(await ask({ url: '/api/destinations/lost', ...asked })).toMatchObject({
      status: 409,
      json: { code: 'setting_unreadable', message: expect.stringContaining('it is not a JSON object') },
    })
  expect((await ask({ url: '/api/destinations/nope' })).status).toBe(404)
  const body = { ...given, sourceIds: ['shop', 'app'] }
  expect((await ask({ method: 'POST', url: '/api/destinations', body })).status).toBe(201)
})
