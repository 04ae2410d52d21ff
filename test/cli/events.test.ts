import { expect, test } from 'vitest'
import { z } from 'zod'
import { pagesOf } from '../../cli/api/client.ts'
import { run } from '../../cli/run.ts'
import type { EventsQuery } from '../../control/activity/events/matches.ts'
import { type FoundCall, foundRejected } from '../../control/activity/events/search.ts'
import { createTokenLimits } from '../../control/api/auth/tokens.ts'
import { deliveryId } from '../../delivery/routing/routing.ts'
import { anAttempt, attemptsHeld } from '../control/attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../control/dead-in-memory.ts'
import { crm, shop } from '../control/in-memory.ts'
import { anEvent } from '../helpers/events.ts'
import { aPoisonedName } from '../helpers/poison.ts'
import { control, operatorOf } from './in-memory.ts'

const now = Date.now()
const at = (ms: number) => new Date(ms).toISOString()
const event = anEvent({ messageId: 'm1', event: 'Paid', receivedAt: now - 60_000 })
const rejected = {
  ...{ sourceId: 'shop', code: 'event_not_defined', message: 'A track call needs\nevent.' },
  ...{ receivedAt: now - 90_000, truncated: false, raw: '{"type":"track","messageId":"m0","userId":"u1"}' },
}

type Parts = Parameters<typeof control>[1]

/** `found`: one page per request. */
async function find(args: string, found: FoundCall[][], parts: Parts = {}) {
  const queries: EventsQuery[] = []
  const ids = ['crm', 'erp', 'off', 'pages', 'left', 'slow', 'gone']
  const destinations = ids.map((id) => ({
    ...{ ...crm, id, enabled: id !== 'off' },
    ...(id === 'pages' && { eventTypes: ['page' as const] }),
    ...(id === 'left' && { rules: { filter: { all: [{ path: 'event', eq: 'Left' }] } } }),
  }))
  const memory = control(
    { sources: [shop], destinations },
    {
      events: {
        async search(query) {
          queries.push(query)
          const items = found[queries.length - 1] ?? []
          const next = queries.length < found.length ? `1.0.${queries.length}` : null
          return { items, next, searchedSince: next === null ? null : now - queries.length * 3_600_000 }
        },
      },
      trace: async () => new Map(),
      ladder: { ladder: [{ name: '1m', delayMs: 60_000 }], windowMs: 3_600_000 },
      ...parts,
    },
  )
  const context = await operatorOf(memory)
  const code = await run(args.split(' '), context)
  return { code, out: context.out.said, err: context.err.said, queries }
}

test('a call has a line for each destination, with the state of its delivery and the last attempt', async () => {
  const id = (destinationId: string) => deliveryId(destinationId, event)
  const made = (destinationId: string, fields: object) =>
    anAttempt({ destinationId, deliveryId: id(destinationId), startedAt: now - 50_000, ...fields })
  const { code, out, err } = await find('events find --message-id m1', [[{ event }]], {
    ...attemptsHeld([
      made('crm', { outcome: 'retry', status: 503, code: 'http_5xx', startedAt: now - 55_000 }),
      made('crm', { attempt: 2, durationMs: 0 }),
      made('erp', {
        outcome: 'retry',
        status: 503,
        code: 'http_5xx',
        durationMs: 0,
        response: 'x'.repeat(300),
      }),
      made('slow', { outcome: 'deferred', status: null, code: 'breaker_open' }),
      made('gone', { outcome: 'rejected', status: 410, code: 'http_410', response: 'moved\naway' }),
    ]),
    ...deadHeld([
      aDeadOne({ deliveryId: id('gone'), destinationId: 'gone', deadAt: now, deadReason: 'rejected' }),
    ]),
  })
  expect([code, err]).toEqual([0, []])
  const [head, heads, ...rows] = out
  expect(head).toBe(`${at(event.receivedAt)}  track  Paid  user u1  source shop  message m1`)
  expect(heads?.trim().split(/ {2,}/)).toEqual([
    ...['destination', 'state', 'attempts', 'last', 'at', 'next attempt', 'delivery'],
  ])
  expect(rows.pop()).toBe('')
  // of deliveries that are not delivered
  expect(rows.splice(-2)).toEqual([`  erp answered: ${'x'.repeat(199)}…`, '  gone answered: moved\\naway'])
  const last = at(now - 50_000)
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['crm', 'delivered', '2', '200', last, '-', id('crm')],
    ['erp', 'retrying', '1', 'http_5xx', last, at(now + 10_000), id('erp')],
    ['off', 'not routed: disabled', '0', '-', '-', '-', id('off')],
    ['pages', 'not routed: type', '0', '-', '-', '-', id('pages')],
    ['left', 'not routed: filtered by /filter/all/0', '0', '-', '-', '-', id('left')],
    ['slow', 'deferred', '0', 'breaker_open', last, '-', id('slow')],
    ['gone', 'rejected', '1', 'http_410', last, '-', id('gone')],
  ])
})

test('attempts that control no longer has still count, by the number of a later one', async () => {
  const made = (fields: object) =>
    anAttempt({
      destinationId: 'crm',
      deliveryId: deliveryId('crm', event),
      startedAt: now - 5_000,
      ...fields,
    })
  const attempts = attemptsHeld([
    made({ attempt: 5, outcome: 'retry', status: 503, code: 'http_5xx' }),
    made({ attempt: 6, outcome: 'deferred', status: null, code: 'breaker_open', startedAt: now - 1_000 }),
  ])
  const { out } = await find('events find --message-id m1 --destination crm', [[{ event }]], attempts)
  expect(out[2]?.trim().split(/ {2,}/).slice(0, 3)).toEqual(['crm', 'deferred', '5'])
})

test('a waiting delivery says if its destination is off or removed', async () => {
  const failed = (destinationId: string) =>
    anAttempt({
      ...{ destinationId, deliveryId: deliveryId(destinationId, event), startedAt: now - 50_000 },
      ...{ outcome: 'retry', status: 503, code: 'http_5xx' },
    })
  const attempts = attemptsHeld(['crm', 'off', 'deleted', 'pages'].map(failed))
  const { out } = await find('events find --message-id m1', [[{ event }]], attempts)
  const states = out.slice(2).map((row) => row.trim().split(/ {2,}/).slice(0, 2))
  expect(states.filter(([, state]) => state?.startsWith('retrying'))).toEqual([
    ['crm', 'retrying'],
    ['off', 'retrying (destination disabled)'],
    ['pages', 'retrying'],
    ['deleted', 'retrying (destination removed)'],
  ])
})

test('a rejected call has its reason, on one line', async () => {
  const { out } = await find('events find --user u1', [[foundRejected(rejected)]])
  expect(out).toEqual([
    `${at(rejected.receivedAt)}  track  user u1  source shop  message m0`,
    '  rejected: A track call needs\\nevent. (event_not_defined)',
    '',
  ])
})

test('the search goes back until the call is found, and says how far it got', async () => {
  const { out, err, queries } = await find('events find --message-id m1', [
    [],
    [],
    [{ event }],
    [foundRejected(rejected)],
  ])
  expect(queries.map(({ cursor }) => cursor?.offset)).toEqual([undefined, 1, 2])
  expect(err).toEqual([1, 2].map((hours) => `Searched back to ${at(now - hours * 3_600_000)}, continuing.`))
  expect(out.at(-1)).toBe('There may be older calls. Continue with --cursor 1.0.3')
  const older = await find('events find --message-id m1 --cursor 1.0.3', [[{ event }]])
  expect(older.queries).toMatchObject([{ cursor: { offset: 3 } }])
})

test('the calls of a user are found to the end, or to the limit', async () => {
  const pages = [[{ event }], [], [{ event: { ...event, messageId: 'm2' } }]]
  const all = await find('events find --user u1 --source shop --json', pages)
  const { items, next } = JSON.parse(all.out.join())
  expect([items.map(({ messageId }: { messageId: string }) => messageId), next]).toEqual([['m1', 'm2'], null])
  expect(items[0].destinations[0]).toMatchObject({ destinationId: 'crm', attempts: [] })
  expect(all.queries[0]).toMatchObject({ userId: 'u1', sourceId: 'shop', limit: 20 })
  const one = await find('events find --user u1 --limit 1', pages)
  expect([one.code, one.err, one.queries.length, one.queries[0]?.limit]).toEqual([0, [], 1, 1])
})

test('without a hit it says what a search cannot find, and what Kafka has lost', async () => {
  const fault = {
    ...{ at: at(now), topic: 'events', partition: 0, cause: 'truncated', from: 300, lost: 200 },
    ...{ unread: 20, readTo: null, seenBy: ['router'] },
  }
  const { code, out } = await find('events find --delivery d1', [[]], { faults: { all: () => [fault] } })
  expect([code, out]).toEqual([
    0,
    [
      expect.stringMatching(
        /^No such call\. .* does not look into properties.* Sluice does not store .* 401, 403, 413 or 429/,
      ),
      `Kafka lost 200 records of events (truncated, ${at(now)}).`,
    ],
  ])
  const one = await find('events find --delivery d1', [[]], {
    faults: { all: () => [{ ...fault, lost: 1 }] },
  })
  expect(one.out.at(-1)).toMatch(/^Kafka lost 1 record of events/)
})

test('a message ID needs no option, and is given once', async () => {
  const { queries } = await find('events find m1', [[{ event }]])
  expect(queries[0]).toMatchObject({ messageId: 'm1' })
  const twice = await find('events find m1 --message-id m2', [[{ event }]])
  expect([twice.code, twice.err.join()]).toEqual([1, expect.stringContaining('message ID once')])
})

test('calls are found by event name, and by --message as in other commands', async () => {
  const { queries } = await find('events find --event Paid --message m1', [[{ event }]])
  expect(queries[0]).toMatchObject({ event: 'Paid', messageId: 'm1' })
})

test('a dead letter of rules has the code that says why they failed', async () => {
  const letter = aDeadOne({
    ...{ deliveryId: deliveryId('crm', event), messageId: 'm1', destinationId: 'crm' },
    ...{ deadReason: 'rules_failed', deadAt: now, history: [] },
  })
  const { out } = await find('events find --message-id m1', [[{ event }]], deadHeld([letter]))
  expect(out.find((line) => line.startsWith('  crm '))).toContain('dead: rules_failed (too_large)')
})

test('all calls of a period are found', async () => {
  const { code, queries } = await find('events find --source shop --since 2026-01-02T03:00:00Z', [
    [{ event }],
  ])
  expect([code, queries]).toEqual([
    0,
    [expect.objectContaining({ sourceId: 'shop', since: Date.parse('2026-01-02T03:00:00Z') })],
  ])
})

test('a search without an id or a time is refused', async () => {
  const { code, err, queries } = await find('events find --source shop', [[]])
  expect([code, err, queries]).toEqual([
    1,
    ['Say what to find: --message-id, --user, --anonymous, --event, --delivery, --since or --until.'],
    [],
  ])
})

test('--json keeps the names of members, whatever names earlier calls had', async () => {
  const properties = `{"${aPoisonedName()}":1,"\\"":2}`
  const { out } = await find('events find --message-id m1 --json', [[{ event: { ...event, properties } }]])
  expect(out.join()).toContain(properties)
})

test('a search of very many pages waits when control has had too many searches', async () => {
  const found = Array.from({ length: 105 }, () => [])
  const tokenLimits = createTokenLimits(() => performance.now())
  const { code, err, queries } = await find('events find --user u1', found, { tokenLimits })
  expect({ code, pages: queries.length }).toEqual({ code: 0, pages: 105 })
  expect(err.filter((line) => line.includes('too_many_searches'))).toEqual([])
})

test('a search whose token is replaced meanwhile ends at once: each use of a wrong token would be logged', async () => {
  const wrong = { status: 429, body: { code: 'too_many_attempts', message: 'This token is not valid' } }
  const responses = [{ status: 200, body: { items: [], next: '1' } }, wrong]
  const shape = z.object({ items: z.array(z.string()), next: z.string().nullable() })
  let asked = 0
  const pages = pagesOf(
    async () => {
      asked += 1
      return responses.shift() ?? wrong
    },
    { path: 'events', query: {}, limit: 2, perPage: 1 },
    shape,
  )
  await expect(Array.fromAsync(pages)).rejects.toThrow('too_many_attempts')
  expect(asked).toBe(2)
})
