import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { render } from '../../delivery/render.ts'
import { budgetOf, type Call, callOf } from '../../rules/call.ts'
import { compileRules } from '../../rules/compile.ts'
import { compileRedact } from '../../rules/redact.ts'
import { REDACTIONS, type Redaction, type Rules } from '../../rules/rules.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'
import { collectGarbage } from '../helpers/garbage.ts'

const key = Buffer.from('a key of this destination')
const hashed = (text: string) => createHmac('sha256', key).update(text).digest('hex').slice(0, 32)

function bodyOf(rules: Rules, event: Event): string {
  const result = compileRules(rules, key, render).run(event)
  if (result.outcome !== 'sent') throw new Error(result.outcome)
  return result.body
}

function redacted(value: unknown, as: Redaction): unknown {
  const event = anEvent({ type: 'identify', traits: JSON.stringify({ it: value }) })
  return JSON.parse(bodyOf({ redact: [{ path: 'traits.it', as }] }, event)).traits.it
}

describe('a redacted value', () => {
  test.each<[Redaction, unknown, unknown]>([
    ['drop', 'ann@example.com', undefined],
    ['drop', null, null],
    ['hash', 'ann@example.com', hashed('ann@example.com')],
    ['hash', 42, hashed('42')],
    ['hash', true, hashed('true')],
    ['hash', null, null],
    ['hash', ['a'], undefined],
    ['hash', { a: 1 }, undefined],
    ['mask', '', ''],
    ['mask', 'abc', '****'],
    ['mask', 'abcde', '********'],
    ['mask', 'ann@example.com', '****************'],
    ['mask', 'x'.repeat(33), '*'.repeat(64)],
    ['mask', 'x'.repeat(5_000), '*'.repeat(64)],
    ['mask', 4711, '****'],
    ['mask', ['a'], undefined],
    ['truncate', '203.0.113.9', '203.0.113.0'],
    ['truncate', '2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['truncate', '::ffff:203.0.113.9', '203.0.113.0'],
    ['truncate', 'fe80::1%eth-0', 'fe80::'],
    ['truncate', 'ann@example.com', 'ann@'],
    ['truncate', '1980-05-17', '1980'],
    ['truncate', '94107', '94'],
    ['truncate', 'a', ''],
    ['truncate', 12345678, '1234'],
    ['truncate', '\u{1f600}\u{1f601}\u{1f602}\u{1f603}', '\u{1f600}\u{1f601}'],
    ['truncate', { a: 1 }, undefined],
  ])('%s of %j is %j', (as, value, expected) => {
    expect(redacted(value, as)).toEqual(expected)
  })
})

test('equal values have equal hashes within a destination, and different ones with another key', () => {
  const event = anEvent({ userId: 'ann', properties: '{"owner":"ann"}' })
  const redact: Rules['redact'] = [
    { path: 'userId', as: 'hash' },
    { path: 'properties.owner', as: 'hash' },
  ]
  const { userId, properties } = JSON.parse(bodyOf({ redact }, event))
  expect(userId).toBe(properties.owner)
  const other = compileRules({ redact }, Buffer.from('another key'), render).run(event)
  expect(JSON.stringify(other)).not.toContain(userId)
})

test('entries apply in order', () => {
  const event = anEvent({ properties: '{"a":"ann@example.com"}' })
  const both = (first: Redaction, second: Redaction) =>
    JSON.parse(
      bodyOf(
        {
          redact: [
            { path: 'properties.a', as: first },
            { path: 'properties.a', as: second },
          ],
        },
        event,
      ),
    ).properties.a
  expect(both('hash', 'truncate')).toBe(hashed('ann@example.com').slice(0, 4))
  expect(both('truncate', 'hash')).toBe(hashed('ann@'))
})

test('in a list, null replaces a dropped value, so the others keep their places', () => {
  const event = anEvent({ properties: '{"list":["a","b"],"items":[{"x":1,"y":2},{"y":3},4]}' })
  const redact: Rules['redact'] = [
    { path: 'properties.list[0]', as: 'drop' },
    { path: 'properties.items[*].x', as: 'drop' },
  ]
  expect(JSON.parse(bodyOf({ redact }, event)).properties).toEqual({
    list: [null, 'b'],
    items: [{ y: 2 }, { y: 3 }, 4],
  })
})

test('a path that leads nowhere changes nothing, byte for byte', () => {
  const event = anEvent({ properties: '{"1":3,"a":{"b":[1]},"__proto__":2}', context: '{"ip":"x"}' })
  const paths = [
    'properties.a.c',
    'properties.a[0]',
    'properties.a.b.c',
    'properties.a.b[1]',
    'traits.x',
    'groupId',
  ]
  const redact = paths.map((path) => ({ path, as: 'drop' as const }))
  expect(bodyOf({ redact }, event)).toBe(bodyOf({}, event))
})

test.each([
  'properties.a.c',
  'properties.items[*].y',
  'properties.items[*].none',
  'properties.items[0].x',
  'properties.empty',
  'properties[*]',
  'traits.x',
  'name',
])('if nothing changes, nothing is copied or printed: %s', (path) => {
  const items = [{ x: null, y: '' }, { 1: 0, y: null }, 4]
  const call = callOf(anEvent({ properties: JSON.stringify({ a: { b: 1 }, items, empty: '' }), name: '' }))
  const redact = compileRedact([{ path, as: 'mask' }], key)
  expect(redact?.(call)).toBe(call)
})

test('a property named __proto__ is a property', () => {
  const event = anEvent({ properties: '{"__proto__":{"a":"secret"},"b":{"__proto__":"secret"}}' })
  const redact: Rules['redact'] = [
    { path: 'properties.__proto__.a', as: 'mask' },
    { path: 'properties.b.__proto__', as: 'drop' },
  ]
  expect(bodyOf({ redact }, event)).toContain('"properties":{"__proto__":{"a":"********"},"b":{}}')
})

test('without the user id, the body has the anonymous id: redact both', () => {
  const event = anEvent({ userId: 'u1', anonymousId: 'a1' })
  expect(bodyOf({ redact: [{ path: 'userId', as: 'drop' }] }, event)).toContain('"anonymousId":"a1"')
  const rules: Rules = {
    redact: [
      { path: 'userId', as: 'drop' },
      { path: 'anonymousId', as: 'drop' },
    ],
  }
  expect(bodyOf(rules, event)).not.toMatch(/u1|a1/)
})

describe('the name and category of a page, which the body shows as properties', () => {
  const page = anEvent({
    type: 'page',
    event: null,
    name: 'Secret A',
    category: 'Secret B',
    properties: '{"name":"Secret C"}',
  })
  const shape = { all: '{{name}}{{category}}{{properties | json}}' }

  test.each(['properties.name', 'properties', 'properties["name"]'])(
    '%s redacts the name, wherever it is',
    (path) => {
      const rules: Rules = { redact: [{ path, as: 'drop' }] }
      expect(bodyOf(rules, page)).not.toMatch(/Secret [AC]/)
      expect(bodyOf({ ...rules, shape }, page)).not.toMatch(/Secret [AC]/)
    },
  )

  test('a path inside a property leaves the name', () => {
    const rules: Rules = { redact: [{ path: 'properties.name.first', as: 'drop' }] }
    const event = { ...page, properties: '{}' }
    expect(bodyOf(rules, event)).toBe(bodyOf({}, event))
    expect(bodyOf(rules, event)).toContain('Secret A')
  })

  test('properties.category redacts the category of a page or screen', () => {
    const rules: Rules = { redact: [{ path: 'properties.category', as: 'mask' }] }
    expect(JSON.parse(bodyOf(rules, page)).properties.category).toBe('********')
    expect(JSON.parse(bodyOf(rules, { ...page, type: 'screen' })).properties.category).toBe('********')
  })

  test('on other calls, a property and the name are independent', () => {
    const track = anEvent({ name: 'N', properties: '{"name":"P"}' })
    expect(
      bodyOf({ redact: [{ path: 'properties.name', as: 'drop' }], shape: { n: '{{name}}' } }, track),
    ).toBe('{"n":"N"}')
  })
})

test('a redacted value never appears: not in the body, not in a shape of everything, not if the rules fail', () => {
  const secret = 'SECRET-4711'
  const texts = fc.constantFrom('userId', 'anonymousId', 'groupId', 'previousId', 'name', 'category', 'event')
  const keys = fc.array(fc.constantFrom('.a', '["b c"]', '.__proto__', '[0]', '[*]'), {
    minLength: 1,
    maxLength: 4,
  })
  const inJson = fc
    .tuple(fc.constantFrom('properties', 'traits', 'context'), keys)
    .map(([root, names]) => root + names.join(''))
  const types = fc.constantFrom('identify', 'track', 'page', 'screen', 'group', 'alias', 'delete')
  const everything = {
    all: '{{type}}{{event}}{{userId}}{{anonymousId}}{{previousId}}{{groupId}}{{name}}{{category}}{{properties | json}}{{traits}}{{context}}',
    properties: '{{properties}}',
    traits: '{{traits}}',
    context: '{{context}}',
  }
  const tooMuch = { a: '{{properties}}', b: Array.from({ length: 200 }, () => 'x'.repeat(2_000)) }
  fc.assert(
    fc.property(fc.oneof(texts, inJson), fc.constantFrom(...REDACTIONS), types, (path, as, type) => {
      const event = eventWith(path, secret, type)
      const redact = [{ path, as }]
      for (const rules of [{ redact }, { redact, shape: everything }, { redact, shape: tooMuch }]) {
        const result = compileRules(rules, key, render).run(event)
        expect(JSON.stringify(result)).not.toContain(secret)
      }
    }),
    { numRuns: 1_000 },
  )
})

const COLUMNS = ['properties', 'traits', 'context'] as const

test('several entries redact as each alone does: columns as a whole, too, and if the rules cost too much', () => {
  const entries = fc.array(
    fc.record({
      root: fc.constantFrom(...COLUMNS),
      keys: fc.constantFrom('', '.a'),
      as: fc.constantFrom(...REDACTIONS),
    }),
    { minLength: 1, maxLength: 6 },
  )
  const shape = { p: '{{properties}}', t: '{{traits | json}}', c: '{{context}}' }
  const costly = { path: 'event', matches: '(a?){300}b' }
  fc.assert(
    fc.property(entries, fc.constantFrom('track', 'identify', 'page', 'group'), (given, type) => {
      const redact = given.map(({ root, keys, as }) => ({ path: root + keys, as: keys === '' ? 'drop' : as }))
      const event = anEvent({
        type,
        event: 'a'.repeat(10_000),
        properties: '{"a":"SECRET properties"}',
        traits: '{"a":"SECRET traits"}',
        context: '{"a":"SECRET context"}',
      })
      for (const rules of [{ redact }, { redact, shape }, { redact, filter: costly }]) {
        const result = JSON.stringify(compileRules(rules, key, render).run(event))
        for (const { root } of given) expect(result).not.toContain(`SECRET ${root}`)
      }
    }),
  )
})

test('once the budget is spent, no more objects are copied: the rest is dropped', () => {
  const items = Array(1_000).fill({ x: '', y: 'a' })
  const budget = budgetOf(28_000)
  const call = callOf(anEvent({ properties: JSON.stringify(items) }), budget)
  const { columns } = compileRedact([{ path: 'properties[*].x', as: 'drop' }], key)?.(call) ?? call
  const redacted = columns.properties
  if (!Array.isArray(redacted)) return expect.fail('it is a list')
  expect(redacted.slice(0, 2)).toEqual([{ y: 'a' }, { y: 'a' }])
  expect(redacted.lastIndexOf(null)).toBe(999)
  expect(redacted.filter((each) => each !== null).length).toBeLessThan(1_000)
  expect(budget.work).toBeLessThan(0)
})

test('redacted objects with index names take little memory, as parsed ones do', () => {
  const count = 2_000
  const items = Array(count).fill({ x: 'abc', 1023: 0, 2573: 0, 3322: 0 })
  const call = callOf(anEvent({ type: 'track', properties: JSON.stringify({ items }) }))
  const kept: Call[] = []
  for (const as of ['mask', 'drop'] as const) {
    const redact = compileRedact([{ path: 'properties.items[*].x', as }], key)
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    kept.push(redact?.(call) ?? expect.fail('it can be compiled'))
    collectGarbage()
    expect((process.memoryUsage().heapUsed - before) / count).toBeLessThan(1_000)
  }
  expect(kept.map(({ event }) => event.properties?.slice(0, 44))).toEqual([
    '{"items":[{"1023":0,"2573":0,"3322":0,"x":"*',
    '{"items":[{"1023":0,"2573":0,"3322":0},{"102',
  ])
})

function eventWith(path: string, value: string, type: Event['type']): Event {
  const [root = '', ...names] = path.split(/\.|(?=\[)/)
  if (names.length === 0) return anEvent({ type, [root]: value })
  const built = names.reduceRight<unknown>((inner, name) => {
    if (name === '[0]' || name === '[*]') return [inner, 'other']
    return JSON.parse(
      `{${name.startsWith('[') ? name.slice(1, -1) : JSON.stringify(name)}:${JSON.stringify(inner)}}`,
    )
  }, value)
  return anEvent({ type, [root]: JSON.stringify(built) })
}
