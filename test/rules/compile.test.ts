import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { render } from '../../delivery/render.ts'
import { budgetOf, MAX_WORK } from '../../rules/call.ts'
import { compileRules } from '../../rules/compile.ts'
import { type Rules, rulesShape } from '../../rules/rules.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'

const key = Buffer.alloc(32, 7)
const order = anEvent({
  event: 'Order Paid',
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  properties:
    '{"total":12.5,"currency":"EUR","products":[{"sku":"a","price":5},{"sku":"b","price":7.5}],"a b":1}',
  context: '{"ip":"203.0.113.9","page":{"url":"https://shop.example/x"}}',
})

const run = (rules: unknown, event: Event = order) =>
  compileRules(rulesShape.parse(rules), key, render).run(event)

test('empty rules send the usual body', () => {
  expect(run({})).toEqual({ outcome: 'sent', body: render(order), type: 'track' })
})

test('an event that does not meet the filter is filtered by the condition that does not hold', () => {
  const filter = {
    all: [
      { path: 'event', in: ['Order Paid'] },
      { path: 'properties.total', gte: 20 },
    ],
  }
  expect(run({ filter })).toEqual({ outcome: 'filtered', condition: '/filter/all/1' })
  expect(run({ filter }, { ...order, event: 'X' })).toEqual({
    outcome: 'filtered',
    condition: '/filter/all/0',
  })
  expect(
    run({ filter: { any: [{ not: { path: 'type', eq: 'track' } }, { path: 'userId', eq: 'x' }] } }),
  ).toEqual({
    outcome: 'filtered',
    condition: '/filter/any',
  })
  expect(run({ filter: { not: { path: 'type', eq: 'track' } } })).toEqual({
    outcome: 'filtered',
    condition: '/filter/not',
  })
})

test('redacted values are gone from the body, and the others are unchanged', () => {
  const redact: Rules['redact'] = [
    { path: 'userId', as: 'hash' },
    { path: 'context.ip', as: 'truncate' },
    { path: 'properties.products[*].sku', as: 'drop' },
    { path: 'properties.currency', as: 'mask' },
  ]
  const result = run({ redact })
  expect(result).toEqual({
    outcome: 'sent',
    type: 'track',
    body: `{"version":1,"type":"track","userId":"bb36f8a41040fa514e765fba62879cba","event":"Order Paid","properties":{"total":12.5,"currency":"****","products":[{"price":5},{"price":7.5}],"a b":1},"timestamp":"2026-01-02T03:04:05.006Z","context":{"ip":"203.0.113.0","page":{"url":"https://shop.example/x"}}}`,
  })
})

test('a shape replaces the body', () => {
  const shape = {
    text: 'New order {{properties.total}} from {{userId}}{{properties.none}}',
    order: '{{properties.total}}',
    items: '{{properties.products}}',
    skus: '{{properties.products[*].sku | join: ", "}}',
    none: '{{properties.none}}',
    some: '{{properties.none | default: 3}}',
    quoted: '{{properties["a b"]}}',
    list: [1, '{{properties.none}}', null, true],
    time: '{{timestamp | unix}}',
  }
  expect(run({ shape })).toEqual({
    outcome: 'sent',
    type: 'track',
    body: JSON.stringify({
      text: 'New order 12.5 from u1',
      order: 12.5,
      items: [
        { sku: 'a', price: 5 },
        { sku: 'b', price: 7.5 },
      ],
      skus: 'a, b',
      some: 3,
      quoted: 1,
      list: [1, null, true],
      time: Date.UTC(2026, 0, 2, 3, 4, 5) / 1000,
    }),
  })
})

test('events outside the sample are not sent', () => {
  expect(run({ sample: { rate: 0 } })).toEqual({ outcome: 'sampled_out' })
  expect(run({ sample: { rate: 1 } })).toMatchObject({ outcome: 'sent' })
  expect(run({ sample: { rate: 0 }, filter: { path: 'event', eq: 'X' } })).toMatchObject({
    outcome: 'filtered',
  })
})

test('filter and sample see the original values, the shape does not', () => {
  const rules = {
    filter: { path: 'userId', eq: 'u1' },
    redact: [{ path: 'userId', as: 'drop' }],
    shape: { id: '{{userId | default: "none"}}' },
  }
  expect(run(rules)).toMatchObject({ body: '{"id":"none"}' })
})

test('a deletion passes every filter and sample, redacted but not shaped', () => {
  const deletion = anEvent({ type: 'delete', userId: 'u1' })
  const rules = {
    filter: { path: 'event', eq: 'X' },
    sample: { rate: 0 },
    redact: [{ path: 'userId', as: 'mask' }],
    shape: { a: 1 },
  }
  expect(run(rules, deletion)).toEqual({
    outcome: 'sent',
    type: 'delete',
    body: '{"type":"delete","userId":"****","timestamp":"2023-11-14T22:13:20.000Z"}',
  })
})

test('compiled rules say whether the user is redacted', () => {
  const compiled = (rules: unknown) => compileRules(rulesShape.parse(rules), key, render)
  const redact = (path: string) => compiled({ redact: [{ path, as: 'hash' }] }).changesUser
  expect(['userId', 'anonymousId', 'previousId', 'traits.userId'].map(redact)).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(compiled({}).changesUser).toBe(false)
})

describe('rules that fail', () => {
  const costly = anEvent({
    properties: JSON.stringify({ text: 'ab'.repeat(15_000) }),
    context: '{"ip":"203.0.113.9"}',
  })
  const redact = [{ path: 'context.ip', as: 'drop' }]

  test('a pattern that would take too long does not run, and the kept body is redacted', () => {
    const filter = { path: 'properties.text', matches: '(a|b){100}c' }
    const result = run({ filter: { any: [filter, { path: 'type', eq: 'track' }] }, redact }, costly)
    expect(result).toMatchObject({ outcome: 'failed', code: 'too_costly', message: expect.any(String) })
    expect(JSON.stringify(result)).not.toContain('203.0.113')
    expect(result).toMatchObject({ body: expect.stringContaining('"context":{}') })
  })

  test('too many hashes fail too, and what they should hide stays hidden', () => {
    const many = anEvent({ properties: JSON.stringify({ list: Array.from({ length: 15_000 }, () => 7) }) })
    const result = run({ redact: [{ path: 'properties.list[*]', as: 'hash' }] }, many)
    expect(result).toMatchObject({ outcome: 'failed', code: 'too_costly' })
    expect(JSON.stringify(result)).not.toContain('7')
  })

  test('a redacted body that is too large is not kept', () => {
    const many = anEvent({ properties: JSON.stringify({ list: Array.from({ length: 9_000 }, () => 7) }) })
    expect(run({ redact: [{ path: 'properties.list[*]', as: 'hash' }] }, many)).toMatchObject({
      outcome: 'failed',
      code: 'too_large',
      body: '{}',
    })
  })

  test.each([
    [{ filter: { path: 'from a later version', eq: 1 }, redact }],
    [{ filter: { path: 'event' }, redact }],
    [{ filter: { path: 'event', matches: '(' }, redact }],
    [{ filter: { all: [{ any: [{ not: {} }] }] }, redact }],
    [{ shape: { a: '{{event | from_a_later_version}}' }, redact }],
  ])('stored rules that no longer compile fail each event: %j', (rules) => {
    expect(run(rules, costly)).toMatchObject({
      outcome: 'failed',
      code: 'invalid_rules',
      body: expect.stringContaining('"context":{}'),
    })
  })

  test('nothing of the event is kept if it cannot be redacted', () => {
    const compiled = compileRules({ redact: [{ path: 'from a later version', as: 'hash' }] }, key, render)
    expect(compiled.run(order)).toMatchObject({ outcome: 'failed', code: 'invalid_rules', body: '{}' })
    expect(compiled.changesUser).toBe(true)
  })

  test('a bug fails the event and reveals nothing of it', () => {
    const broken = anEvent({ properties: 'SECRET is not JSON' })
    const result = run({ filter: { path: 'properties.a', eq: 1 } }, broken)
    expect(result).toMatchObject({ outcome: 'failed', code: 'internal', body: '{}' })
    expect(JSON.stringify(result)).not.toContain('SECRET')
  })
})

test('rules of several destinations do not change the event, and all see the same', () => {
  const redacting = compileRules({ redact: [{ path: 'properties.total', as: 'drop' }] }, key, render)
  const plain = compileRules({ shape: { total: '{{properties.total}}' } }, key, render)
  const before = structuredClone(order)
  const bodies = [plain, redacting, plain, redacting].map(({ run: runOn }) => runOn(order))
  expect(bodies[0]).toEqual({ outcome: 'sent', type: 'track', body: '{"total":12.5}' })
  expect(bodies[2]).toEqual(bodies[0])
  expect(bodies[3]).toEqual(bodies[1])
  expect(order).toEqual(before)
})

describe('a page of 32 KB, whose body shows its name as a property', () => {
  const properties = JSON.stringify(Object.fromEntries(Array.from({ length: 2_700 }, (_, n) => [`k${n}`, n])))
  const page = anEvent({ type: 'page', event: null, name: 'Home', properties })
  const outcomeOf = (text: string, count: number) => {
    const shape = Array.from({ length: count }, () => text)
    return compileRules({ shape }, key, render).run(page)
  }

  test('costs no copy of its properties for each placeholder', () => {
    expect(
      outcomeOf('{{properties.a | default: properties.b | default: properties.name}}', 200),
    ).toMatchObject({
      outcome: 'sent',
      body: JSON.stringify(Array.from({ length: 200 }, () => 'Home')),
    })
  })

  test('is copied once to filter it and once to shape it redacted: each read of a list took 2 to 4 ms', () => {
    const entries = vi.spyOn(Object, 'entries')
    onTestFinished(() => entries.mockRestore())
    const path = 'properties.list[*]'
    const any = Array.from({ length: 30 }, () => ({ path, eq: 'x' }))
    const filter = { any: [...any, { path: 'type', eq: 'page' }] }
    const shape = Array.from({ length: 30 }, () => `{{${path}}}`)
    const redact = [{ path: 'properties.k1', as: 'hash' }] as const
    const { run } = compileRules({ filter, redact: [...redact], shape }, key, render)
    expect(run({ ...page })).toMatchObject({ outcome: 'sent' })
    const ofAll = entries.mock.calls.filter(([object]) => 'k2' in object)
    // redaction makes a third
    expect(ofAll.length).toBeLessThanOrEqual(3)
  })

  test('fails if all its properties are read too often', () => {
    expect(outcomeOf('{{properties | size}}', 50)).toMatchObject({ outcome: 'sent' })
    expect(outcomeOf('{{properties | size}}', 200)).toMatchObject({ outcome: 'failed', code: 'too_costly' })
  })
})

test('the search for integrations in the context counts as work, as the body does not show them', () => {
  const event = anEvent({
    context: JSON.stringify({ integrations: { a: '"'.repeat(15_000) }, locale: 'de' }),
  })
  const outcomeOf = (count: number) =>
    run({ shape: Array.from({ length: count }, () => '{{context}}') }, event)
  expect(outcomeOf(50)).toMatchObject({ outcome: 'sent' })
  expect(outcomeOf(200)).toMatchObject({ outcome: 'failed', code: 'too_costly' })
})

describe('an event with numbers that take long to print', () => {
  const event = (number: unknown) =>
    anEvent({
      type: 'track',
      properties: JSON.stringify({ a: Array.from({ length: 4_500 }, () => number), b: { c: 'x' } }),
    })
  const slow = event(9e-265)

  test.each([
    '{{properties.a | truncate: 1}}',
    '{{properties.a | json | size}}',
    '{{properties.a[*] | join: "" | truncate: 1}}',
    '{{properties.zz | default: properties | truncate: 1}}',
    '{{properties.b}}',
    'b: {{properties.b}}',
  ])('fails if they may be printed too often: 50 times %s', (text) => {
    const rules = { shape: Array.from({ length: 50 }, () => text) }
    expect(run(rules, slow)).toMatchObject({ outcome: 'failed', code: 'too_costly' })
    for (const ordinary of [7, 12.25, 'a'])
      expect(run(rules, event(ordinary))).toMatchObject({ outcome: 'sent' })
  })

  test('costs its redaction as much as printing it takes, if that changes anything', () => {
    const work = (path: string, of: Event) => {
      const budget = budgetOf(MAX_WORK)
      compileRules({ redact: [{ path, as: 'drop' }] }, key, render).run(of, budget)
      return budget.done / (of.properties?.length ?? 0)
    }
    expect(work('properties.b.c', event(12.25))).toBeCloseTo(1)
    expect(work('properties.b.d', slow)).toBe(1)
    expect(work('properties.b.c', slow)).toBeGreaterThan(4)
  })

  test('fails without being printed if its redaction exceeds the budget', () => {
    const redact = [{ path: 'properties.b.c', as: 'mask' as const }]
    const result = compileRules({ redact }, key, render).run(slow, budgetOf(40_000))
    expect(result).toMatchObject({ outcome: 'failed', code: 'too_costly' })
    expect(JSON.stringify(result)).toContain('\\"properties\\":{}')
  })
})
