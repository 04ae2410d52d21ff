import { readFile } from 'node:fs/promises'
import { afterEach, assert, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import {
  type Announced,
  announcedRecord,
  createAnnounced,
  noticeId,
} from '../../../control/tasks/notices/announced.ts'
import { createWatch, noticeOf } from '../../../control/tasks/notices/decide.ts'
import { createCheck, sendNotices } from '../../../control/tasks/notices/notices.ts'
import { render } from '../../../delivery/render.ts'
import { targetsOf } from '../../../delivery/targets.ts'
import { CLOSE_MS } from '../../../kafka/client.ts'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import { CATALOG } from '../../../rules/catalog.ts'
import { compileRules } from '../../../rules/compile.ts'
import { rulesShape } from '../../../rules/rules.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Destination, Source } from '../../../settings/settings.ts'
import { anAttempt } from '../attempts-in-memory.ts'
import { crm, shop } from '../in-memory.ts'

type State = 'healthy' | 'failing' | 'rejecting' | 'idle' | 'paused'

const MINUTE = 60_000
const URL_WITH_TOKEN = 'https://hooks.example/services/T0KEN'

describe('a change of state', () => {
  const target = {
    urlIndex: 0,
    url: URL_WITH_TOKEN,
    webhook: `crm 0 ${URL_WITH_TOKEN}`,
    origin: 'https://hooks.example',
  }
  const id = noticeId(target.webhook)

  /** @returns the change that each look finds. Looks are 10 s apart. Without a state, the webhook is missing. */
  function looks(states: readonly (State | undefined)[], announced: Announced['states'] = new Map()) {
    const watch = createWatch(MINUTE)
    return states.map((state, nth) => {
      const health = state && { state, lastError: null, lastDeliveredAt: null }
      const time = { elapsed: nth * 10_000, now: 1_000_000 + nth * 10_000 }
      const look = watch.look()
      const change = health && look.changeOf({ id, target, destination: crm, health }, announced, time)
      look.end()
      return change && `${change.before} to ${change.state} since ${(change.since - 1_000_000) / 1_000}`
    })
  }
  const found = (states: readonly State[], announced?: Announced['states']) =>
    looks(states, announced).findIndex(Boolean)
  const many = (state: State, count = 7) => Array<State>(count).fill(state)

  test('counts once it has lasted for a minute', () => {
    expect(looks(many('failing'))).toEqual([...Array(6).fill(undefined), 'healthy to failing since 0'])
    expect(looks(many('healthy'), new Map([[id, 'rejecting']])).at(-1)).toBe('rejecting to healthy since 0')
    expect(looks(many('rejecting'), new Map([[id, 'failing']])).at(-1)).toBe('failing to rejecting since 0')
  })

  test('does not count if the new state is idle or paused, or was announced', () => {
    expect(found(many('healthy', 20))).toBe(-1)
    expect(found(many('failing', 20), new Map([[id, 'failing']]))).toBe(-1)
    expect(found([...many('idle', 20), ...many('paused', 20)], new Map([[id, 'failing']]))).toBe(-1)
  })

  test('starts over if the webhook returns to the announced state meanwhile', () => {
    expect(looks([...many('failing', 6), 'healthy', ...many('failing')]).at(-1)).toBe(
      'healthy to failing since 70',
    )
    expect(found([...many('failing', 6), 'healthy', ...many('failing', 6)])).toBe(-1)
  })

  test('starts over if the webhook was removed meanwhile', () => {
    expect(looks([...many('failing', 6), undefined, ...many('failing')]).at(-1)).toBe(
      'healthy to failing since 70',
    )
  })

  test('from healthy lasts while the webhook switches between failing and rejecting', () => {
    const both = ['failing', 'rejecting', 'failing', 'failing', 'rejecting', 'failing', 'rejecting'] as const
    expect(looks(both).at(-1)).toBe('healthy to rejecting since 0')
  })
})

describe('notices', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const ops: Source = { ...shop, id: 'ops', kind: 'notices' }
  const hook = (more: Partial<Destination> = {}): Destination => ({
    ...crm,
    webhooks: [{ url: URL_WITH_TOKEN, headers: {} }],
    ...more,
  })

  /** Kafka in memory. The delay is 0, so each change counts at once. */
  function control({ sources = [ops], destinations = [hook()] } = {}) {
    const state = {
      owns: true,
      isAway: false,
      isWriterAway: false,
      health: 'failing' as State,
      isFresh: true,
      unreadable: 0,
      sources: new Map(sources.map((each) => [each.id, each])),
      destinations: new Map(destinations.map((each) => [each.id, each])),
    }
    const announced = createAnnounced()
    const events: Event[] = []
    const records: OutRecord[] = []
    const lastError = anAttempt({
      outcome: 'retry',
      status: 503,
      code: 'http_5xx',
      startedAt: 1_000,
      response: 's3cret',
    })
    function apply(written: readonly OutRecord[]): void {
      for (const record of written) {
        records.push(record)
        const { key, value } = record
        expect(announced.apply(String(key), value === null ? undefined : Buffer.from(value))).toBe(true)
      }
    }
    const parts: Parameters<typeof createCheck>[0] = {
      owns: () => state.owns,
      settings: { ...state, countUnreadable: () => state.unreadable },
      health: {
        webhooks: ({ webhooks }) =>
          webhooks.map((_, urlIndex) => ({
            urlIndex,
            breaker: 'closed',
            since: null,
            state: state.health,
            lastError: state.health === 'healthy' ? null : lastError,
            lastDeliveredAt: 500,
          })),
      },
      attempts: { isFresh: () => state.isFresh },
      tasks: { announced: announced.states, table: { caughtUp: async () => {} } },
      taskWriter: {
        async write(decide) {
          if (state.isWriterAway) return { ok: false, unavailable: new Error('away') }
          const decision = decide()
          if ('records' in decision) apply(decision.records)
          return { ok: true }
        },
      },
      producer: {
        async produce(written) {
          if (state.isAway) return 'unknown'
          events.push(...written.map(({ value }) => JSON.parse(String(value))))
          return 'acked'
        },
      },
      encode: (event) => Buffer.from(JSON.stringify(event)),
      log: { warn: () => {} },
      delayMs: 0,
    }
    const names = () => events.map(({ sourceId, event }) => `${sourceId}: ${event}`)
    return { state, events, records, names, announced: announced.states, check: createCheck(parts), parts }
  }

  test('report each change once', async () => {
    const { check, names, state, announced } = control()
    for (let look = 0; look < 3; look++) await check()
    expect([names(), [...announced.values()]]).toEqual([['ops: Webhook Failing'], ['failing']])
    state.health = 'rejecting'
    for (let look = 0; look < 3; look++) await check()
    state.health = 'healthy'
    for (let look = 0; look < 3; look++) await check()
    expect(names()).toEqual(['ops: Webhook Failing', 'ops: Webhook Rejecting', 'ops: Webhook Recovered'])
    expect(announced.size).toBe(0)
  })

  test('say what happened, without secrets from the URL or the response', async () => {
    const { check, events, records } = control()
    await check()
    const [event] = events
    expect(event).toMatchObject({ type: 'track', sourceId: 'ops', anonymousId: 'crm', userId: null })
    expect(JSON.parse(event?.properties ?? '')).toEqual({
      text: 'Webhook 1 of CRM (https://hooks.example) is failing: 503. Failed deliveries are retried.',
      destinationId: 'crm',
      destinationName: 'CRM',
      urlIndex: 0,
      origin: 'https://hooks.example',
      state: 'failing',
      before: 'healthy',
      since: new Date(event?.timestamp ?? 0).toISOString(),
      lastError: { code: 'http_5xx', status: 503, at: '1970-01-01T00:00:01.000Z' },
      lastDeliveredAt: '1970-01-01T00:00:00.500Z',
    })
    expect(JSON.stringify([events, records.map((each) => String(each.key) + each.value)])).not.toMatch(
      /T0KEN|s3cret/,
    )
  })

  test.each([
    ['failing', { outcome: 'retry', code: 'timeout' }, 'is failing: timeout. Failed deliveries are retried.'],
    [
      'failing',
      { outcome: 'refused', code: 'tls_expired' },
      'is failing: tls_expired. Refused deliveries are not retried.',
    ],
    ['failing', null, 'is failing. Failed deliveries are retried.'],
    [
      'rejecting',
      { outcome: 'rejected', code: 'http_404', status: 404 },
      'rejects events: 404. Rejected deliveries are not retried.',
    ],
    ['healthy', { outcome: 'retry', code: 'timeout' }, 'works again.'],
  ] as const)(
    'name the fault if it is known, and say whether deliveries are retried: %s after %j',
    (state, error, text) => {
      const [target] = targetsOf(hook())
      assert(target)
      const health = {
        state,
        lastError: error && anAttempt({ status: null, ...error }),
        lastDeliveredAt: null,
      }
      const change = {
        id: 'x',
        target,
        destination: crm,
        health,
        state,
        before: 'healthy',
        since: 0,
      } as const
      const { properties } = noticeOf(change, { sourceId: 'ops', now: 0 })
      expect(JSON.parse(properties ?? '').text).toBe(`Webhook 1 of CRM (https://hooks.example) ${text}`)
    },
  )

  test('are written only by the process that runs the tasks', async () => {
    const { check, names, state } = control()
    state.owns = false
    await check()
    expect(names()).toEqual([])
  })

  test('are not written by a process that has lost the tasks without noticing', async () => {
    const { parts, state, names } = control()
    const caughtUp = async () => {
      state.owns = false
    }
    await createCheck({ ...parts, tasks: { ...parts.tasks, table: { caughtUp } } })()
    expect(names()).toEqual([])
  })

  test('are written only until the process loses the tasks', async () => {
    const destinations = Array.from({ length: 1_200 }, (_, nth) => hook({ id: `d${nth}` }))
    const { parts, state, events } = control({ destinations })
    const produce: typeof parts.producer.produce = (written) => {
      state.owns = false
      return parts.producer.produce(written)
    }
    await createCheck({ ...parts, producer: { produce } })()
    expect(events.length).toBeLessThan(destinations.length)
  })

  test('are not written again if another process has written them meanwhile', async () => {
    const { parts, names } = control()
    const records = targetsOf(hook()).map(({ webhook }) => announcedRecord(noticeId(webhook), 'failing'))
    const caughtUp = async () => {
      await parts.taskWriter.write(() => ({ records }))
    }
    await createCheck({ ...parts, tasks: { ...parts.tasks, table: { caughtUp } } })()
    expect(names()).toEqual([])
  })

  describe('about thousands of webhooks', () => {
    const destinations = Array.from({ length: 1_200 }, (_, nth) => hook({ id: `d${nth}` }))

    /** Runs `then` once the first part of the destinations has been compared. */
    const afterPart = (health: Parameters<typeof createCheck>[0]['health'], then: () => void) => ({
      webhooks(destination: Destination) {
        if (destination === destinations[0]) setImmediate(then)
        return health.webhooks(destination)
      },
    })

    test('leave time for other work', async () => {
      const { parts, events } = control({ destinations })
      const seen = vi.fn(parts.health.webhooks)
      let atOnce = Number.POSITIVE_INFINITY
      const health = afterPart({ webhooks: seen }, () => {
        atOnce = seen.mock.calls.length
      })
      await createCheck({ ...parts, health })()
      expect(atOnce).toBeLessThan(destinations.length / 2)
      expect(events.length).toBe(destinations.length)
    })

    test('are not written by a process that loses the tasks while it compares', async () => {
      const { parts, state, events } = control({ destinations })
      const health = afterPart(parts.health, () => {
        state.owns = false
      })
      await createCheck({ ...parts, health })()
      expect(events).toEqual([])
    })

    test('wait for the full delay again if states become outdated while they are compared', async () => {
      vi.useFakeTimers({ toFake: ['Date', 'performance'] })
      const { parts, state, events } = control({ destinations })
      let isFreshLater = true
      const health = afterPart(parts.health, () => {
        state.isFresh = isFreshLater
      })
      const check = createCheck({ ...parts, health, delayMs: MINUTE })
      await check()
      vi.advanceTimersByTime(MINUTE)
      isFreshLater = false
      await check()
      isFreshLater = true
      state.isFresh = true
      await check()
      expect(events).toEqual([])
      vi.advanceTimersByTime(MINUTE)
      await check()
      expect(events.length).toBe(destinations.length)
    })

    test('report a recovery even if a destination became readable while others were compared', async () => {
      const { parts, state, announced, check } = control({ destinations })
      await check()
      const last = destinations.at(-1)
      assert(last)
      state.unreadable = 1
      state.destinations.delete(last.id)
      const health = afterPart(parts.health, () => {
        state.unreadable = 0
        state.destinations.set(last.id, last)
      })
      await createCheck({ ...parts, health })()
      expect(announced.size).toBe(destinations.length)
    })
  })

  test('go to every enabled source of kind notices, and to no other source', async () => {
    const others = [shop, { ...ops, id: 'off', enabled: false }, { ...ops, id: 'more' }]
    const { check, names } = control({ sources: [ops, ...others] })
    await check()
    expect(names()).toEqual(['ops: Webhook Failing', 'more: Webhook Failing'])
  })

  test('are written again with the same ids until Kafka has stored them and the state', async () => {
    const { check, events, state, announced } = control()
    state.isAway = true
    await expect(check()).rejects.toThrow('Kafka did not store the notices (unknown)')
    state.isAway = false
    state.isWriterAway = true
    await expect(check()).rejects.toThrow('away')
    state.isWriterAway = false
    await check()
    await check()
    expect(new Set(events.map(({ messageId }) => messageId)).size).toBe(1)
    expect([events.length, announced.size]).toEqual([2, 1])
  })

  test('about one webhook have different ids', async () => {
    const { check, events, state } = control()
    for (const health of ['failing', 'healthy', 'rejecting'] as const) {
      state.health = health
      await check()
    }
    expect(new Set(events.map(({ messageId }) => messageId)).size).toBe(3)
  })

  test('are not written for removed webhooks, which are forgotten', async () => {
    const { check, names, state, announced } = control()
    await check()
    state.destinations.set('crm', hook({ webhooks: [{ url: 'https://new.example/', headers: {} }] }))
    state.health = 'idle'
    await check()
    expect([names(), announced.size]).toEqual([['ops: Webhook Failing'], 0])
  })

  test('report a recovery even if settings could not be read meanwhile', async () => {
    const { check, names, state, announced } = control()
    await check()
    const { sources, destinations } = { sources: [...state.sources], destinations: [...state.destinations] }
    state.unreadable = 1
    state.destinations.clear()
    await check()
    state.sources.clear()
    await check()
    expect(announced.size).toBe(1)
    state.unreadable = 0
    state.health = 'healthy'
    for (const [id, each] of sources) state.sources.set(id, each)
    for (const [id, each] of destinations) state.destinations.set(id, each)
    await check()
    expect(names()).toEqual(['ops: Webhook Failing', 'ops: Webhook Recovered'])
  })

  test('wait for the full delay again after an outage of Kafka, which makes states outdated', async () => {
    vi.useFakeTimers()
    const { parts, state, names } = control()
    const check = createCheck({ ...parts, delayMs: MINUTE })
    await check()
    vi.advanceTimersByTime(MINUTE)
    state.isFresh = false
    await check()
    state.isFresh = true
    await check()
    expect(names()).toEqual([])
    vi.advanceTimersByTime(MINUTE)
    await check()
    expect(names()).toEqual(['ops: Webhook Failing'])
  })

  test('that Kafka does not accept do not delay a shutdown', async () => {
    vi.useFakeTimers()
    const { parts } = control()
    const produce = vi.fn(() => new Promise<never>(() => {}))
    const { close } = sendNotices({ ...parts, producer: { produce } })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(produce).toHaveBeenCalledOnce()
    const closing = close()
    await vi.advanceTimersByTimeAsync(CLOSE_MS)
    await closing
  })

  test('report all webhooks in trouble when their source is created', async () => {
    const { check, names, state, announced } = control()
    await check()
    state.sources.clear()
    await check()
    expect(announced.size).toBe(0)
    state.sources.set('ops', ops)
    await check()
    expect(names()).toEqual(['ops: Webhook Failing', 'ops: Webhook Failing'])
  })

  test('cost nothing without a source of kind notices: no webhook is checked', async () => {
    const { parts } = control({ sources: [shop] })
    const webhooks = () => expect.unreachable('a webhook was checked')
    await createCheck({ ...parts, health: { webhooks } })()
  })
})

test('an unreadable record of a notice counts as healthy, and the record of a task is no notice', () => {
  const { apply, states } = createAnnounced()
  expect([apply('notice/x', Buffer.from('{"state":"failing"}')), states.get('x')]).toEqual([true, 'failing'])
  expect([apply('notice/x', Buffer.from('{"state":"odd"}')), states.has('x')]).toEqual([true, false])
  expect([apply('notice/x', Buffer.from('no json')), states.has('x')]).toEqual([true, false])
  expect(apply('replay/x', Buffer.from('{}'))).toBe(false)
})

test('the guide shows what a receiver gets, and its settings send the text to Slack, like the entry in the console', async () => {
  const guide = await readFile('docs/guides/notices.md', 'utf8')
  const block = (language: string) => new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(guide)?.[1] ?? ''
  const shown = JSON.parse(block('json'))
  const { since, lastError, lastDeliveredAt } = shown.properties
  const destination: Destination = { ...crm, webhooks: [{ url: 'https://crm.example/hook', headers: {} }] }
  const [target] = targetsOf(destination)
  assert(target)
  const startedAt = Date.parse(lastError.at)
  const error = anAttempt({ outcome: 'retry', status: 503, code: 'http_5xx', startedAt })
  const notice = noticeOf(
    {
      id: noticeId(target.webhook),
      target,
      destination,
      health: { state: 'failing', lastError: error, lastDeliveredAt: Date.parse(lastDeliveredAt) },
      state: 'failing',
      before: 'healthy',
      since: Date.parse(since),
    },
    { sourceId: 'notices', now: 0 },
  )
  expect(JSON.parse(render(notice))).toEqual(shown)
  const { destinations } = parse(block('yaml'))
  expect(destinations[0].rules.shape).toEqual(CATALOG.find(({ title }) => title === 'Slack (notices)')?.shape)
  const rules = compileRules(rulesShape.parse(destinations[0].rules), Buffer.alloc(16), render)
  const sent = rules.run(notice)
  assert(sent.outcome === 'sent')
  expect(guide).toContain(`\`${sent.body.replace('{"text":', '{"text": ')}\``)
})
