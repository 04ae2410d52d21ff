import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callOf } from '../../rules/call.ts'
import { compileFilter, eventNamesOf } from '../../rules/filter.ts'
import { type Filter, rulesShape } from '../../rules/rules.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'
import { aPoisonedName } from '../helpers/poison.ts'

const order = anEvent({
  event: 'Order Paid',
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  receivedAt: Date.UTC(2026, 0, 2, 3, 4, 6, 0),
  properties:
    '{"total":12.5,"zero":0,"count":"12","paid":true,"coupon":null,"text":"Blue jumper","empty":[],"tags":["new","sale"],"products":[{"sku":"a","price":5},{"sku":"b","price":7.5},{"price":9}],"a b":{"c.d":1}}',
  context: '{"page":{"url":"https://shop.example/x"},"integrations":{"All":false}}',
})

/** The JSON pointer of what does not hold. */
function decide(filter: unknown, event: Event = order): string | undefined {
  const compiled = compileFilter(rulesShape.parse({ filter }).filter ?? {})
  if (!compiled) throw new Error('it does not compile')
  return compiled(callOf(event))
}

const holds = (filter: unknown, event?: Event) => decide(filter, event) === undefined

test('a path finds a name with a quote, whatever names earlier events had', () => {
  const event = anEvent({ properties: `{"${aPoisonedName()}":1,"\\"":2}` })
  expect(holds({ path: 'properties["\\""]', eq: 2 }, event)).toBe(true)
})

describe('operators', () => {
  test.each([
    // of one type
    [{ path: 'event', eq: 'Order Paid' }, true],
    [{ path: 'event', eq: 'order paid' }, false],
    [{ path: 'properties.total', eq: 12.5 }, true],
    [{ path: 'properties.count', eq: 12 }, false],
    [{ path: 'properties.paid', eq: true }, true],
    [{ path: 'properties.paid', eq: 'true' }, false],
    [{ path: 'properties.coupon', eq: null }, true],
    [{ path: 'properties.zero', eq: false }, false],
    [{ path: 'properties.total', ne: 13 }, true],
    [{ path: 'properties.total', ne: 12.5 }, false],
    [{ path: 'properties.count', ne: 12 }, true],
    [{ path: 'event', in: ['X', 'Order Paid'] }, true],
    [{ path: 'event', in: ['X'] }, false],
    [{ path: 'properties.coupon', in: [null] }, true],
    [{ path: 'event', nin: ['X'] }, true],
    [{ path: 'event', nin: ['Order Paid'] }, false],
    // texts
    [{ path: 'properties.text', startsWith: 'Blue' }, true],
    [{ path: 'properties.text', startsWith: 'blue' }, false],
    [{ path: 'properties.text', endsWith: 'jumper' }, true],
    [{ path: 'properties.text', contains: 'e j' }, true],
    [{ path: 'properties.text', contains: 'x' }, false],
    [{ path: 'properties.total', contains: '2' }, false],
    [{ path: 'properties.tags', contains: 'new' }, false],
    [{ path: 'properties.text', matches: 'jump' }, true],
    [{ path: 'properties.text', matches: '^jump' }, false],
    [{ path: 'properties.text', matches: '(?i)^BLUE jumper$' }, true],
    [{ path: 'properties.total', matches: '12' }, false],
    // order
    [{ path: 'properties.total', gt: 12.5 }, false],
    [{ path: 'properties.total', gte: 12.5 }, true],
    [{ path: 'properties.total', lt: 13 }, true],
    [{ path: 'properties.total', lte: 12 }, false],
    [{ path: 'properties.count', gt: 1 }, false],
    [{ path: 'properties.total', gt: '1' }, false],
    [{ path: 'properties.coupon', gte: 0 }, false],
    [{ path: 'timestamp', gte: '2026-01-01' }, true],
    [{ path: 'timestamp', lt: '2026-01-02T03:04:05.006Z' }, false],
    // a value, or none
    [{ path: 'properties.coupon', exists: true }, true],
    [{ path: 'properties.none', exists: true }, false],
    [{ path: 'properties.none', exists: false }, true],
    [{ path: 'properties.coupon', exists: false }, false],
    [{ path: 'groupId', exists: true }, false],
    [{ path: 'traits', exists: true }, false],
    [{ path: 'context.integrations', exists: true }, false],
    // paths
    [{ path: 'properties["a b"]["c.d"]', eq: 1 }, true],
    [{ path: 'properties.products[1].sku', eq: 'b' }, true],
    [{ path: 'properties.products[9].sku', exists: false }, true],
    [{ path: 'properties.products["0"]', exists: true }, false],
    [{ path: 'properties.text[0]', exists: true }, false],
    [{ path: 'properties.text.length', exists: true }, false],
    [{ path: 'properties.constructor', exists: true }, false],
    [{ path: 'properties.__proto__', exists: true }, false],
    [{ path: 'context.page.url', startsWith: 'https://shop.example/' }, true],
    // every entry: one is enough
    [{ path: 'properties.tags[*]', eq: 'sale' }, true],
    [{ path: 'properties.products[*].sku', eq: 'c' }, false],
    [{ path: 'properties.products[*].sku', ne: 'a' }, true],
    [{ path: 'properties.products[*].sku', exists: true }, true],
    [{ path: 'properties.empty[*]', exists: false }, true],
    [{ path: 'properties.text[*]', exists: true }, false],
    [{ path: 'messageId', eq: 'm1' }, true],
    [{ path: 'sourceId', eq: 'shop' }, true],
    [{ path: 'receivedAt', eq: '2026-01-02T03:04:06.000Z' }, true],
    [{ path: 'type', eq: 'track' }, true],
    [{ path: 'userId', eq: 'u1' }, true],
  ])('%j is %s', (filter, expected) => {
    expect(holds(filter)).toBe(expected)
  })
})

test('only `exists: false` holds for a missing value; `not` reverses that', () => {
  const operators = [
    { eq: 1 },
    { ne: 1 },
    { in: [1] },
    { nin: [1] },
    { exists: true },
    { startsWith: '' },
    { endsWith: '' },
    { contains: '' },
    { gt: 0 },
    { gte: 0 },
    { lt: 0 },
    { lte: 0 },
    { matches: '' },
  ]
  for (const operator of operators) {
    const condition = { path: 'properties.none', ...operator }
    expect(holds(condition), JSON.stringify(condition)).toBe(false)
    expect(holds({ not: condition })).toBe(true)
  }
})

test('names the innermost condition of `all` that does not hold, but the whole `any` or `not`', () => {
  const yes = { path: 'type', eq: 'track' }
  const no = { path: 'type', eq: 'page' }
  expect(decide({ all: [yes, { all: [yes, no] }] })).toBe('/filter/all/1/all/1')
  expect(decide({ all: [yes, { any: [no, no] }] })).toBe('/filter/all/1/any')
  expect(decide({ any: [no, { all: [yes, { not: yes }] }] })).toBe('/filter/any')
  expect(decide({ not: { all: [yes] } })).toBe('/filter/not')
  expect(decide(no)).toBe('/filter')
})

test('a page shows its name and category as properties, unless it has such properties', () => {
  const page = anEvent({
    type: 'page',
    event: null,
    name: 'Home',
    category: 'Shop',
    properties: '{"name":"Own"}',
  })
  expect(holds({ path: 'properties.name', eq: 'Own' }, page)).toBe(true)
  expect(holds({ path: 'properties.category', eq: 'Shop' }, page)).toBe(true)
  expect(holds({ path: 'name', eq: 'Home' }, page)).toBe(true)
  const screen = { ...page, type: 'screen', properties: null } as const
  expect(holds({ path: 'properties.name', exists: true }, screen)).toBe(false)
  expect(holds({ path: 'properties.category', eq: 'Shop' }, screen)).toBe(true)
})

test('conditions on name and type parse no JSON', () => {
  const event = anEvent({ event: 'X', properties: 'not JSON', context: 'not JSON', traits: 'not JSON' })
  const filter = {
    all: [
      { path: 'event', eq: 'X' },
      { path: 'type', in: ['track'] },
      { path: 'userId', ne: 'x' },
    ],
  }
  expect(holds(filter, event)).toBe(true)
})

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, 1, -1.5, '', 'a', 'b', 'ab', '1'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'a b'), tie('value'), { maxKeys: 3 }),
  ),
})).value

const scalar = fc.constantFrom(null, true, false, 0, 1, -1.5, '', 'a', 'b', 'ab', '1')
const textual = fc.constantFrom('', 'a', 'b', 'ab')
const ordered = fc.constantFrom(0, 1, -1.5, '', 'a', 'b')
const operator = fc.oneof(
  fc.record({ eq: scalar }),
  fc.record({ ne: scalar }),
  fc.record({ in: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({ nin: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ startsWith: textual }),
  fc.record({ endsWith: textual }),
  fc.record({ contains: textual }),
  fc.record({ gt: ordered }),
  fc.record({ gte: ordered }),
  fc.record({ lt: ordered }),
  fc.record({ lte: ordered }),
  fc.record({ matches: fc.constantFrom('a', '^a$', 'b|1', '') }),
)
const path = fc.oneof(
  fc.constantFrom('event', 'type', 'userId', 'groupId', 'properties', 'traits'),
  fc
    .tuple(
      fc.constantFrom('properties', 'traits'),
      fc.array(fc.constantFrom('.a', '["b"]', '["__proto__"]', '["a b"]', '[0]', '[1]', '[*]'), {
        maxLength: 3,
      }),
    )
    .map(([root, keys]) => root + keys.join('')),
)
const condition = fc.tuple(path, operator).map(([at, operands]) => ({ path: at, ...operands }))
const filters = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    condition,
    fc.record({ all: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie('filter') }),
  ),
})).filter
const column = fc.option(fc.dictionary(fc.constantFrom('a', 'b', 'a b'), json, { maxKeys: 3 }))
const events = fc
  .record({
    event: fc.option(fc.constantFrom('a', 'b', 'ab')),
    userId: fc.option(fc.constantFrom('a', 'b')),
    properties: column,
    traits: column,
  })
  .map(({ properties, traits, ...texts }) =>
    anEvent({
      ...texts,
      properties: properties && JSON.stringify(properties),
      traits: traits && JSON.stringify(traits),
    }),
  )

function naive(filter: Filter, whole: Record<string, unknown>): boolean {
  if (filter.all) return filter.all.every((each) => naive(each, whole))
  if (filter.any) return filter.any.some((each) => naive(each, whole))
  if (filter.not) return !naive(filter.not, whole)
  const { path: at = '', ...operators } = filter
  const [root = '', ...keys] = at.split(/\.|\["?|"?\]\["?|"?\]/).filter((key) => key !== '')
  let values: unknown[] = Object.hasOwn(whole, root) ? [whole[root]] : []
  for (const key of keys)
    values = values.flatMap((value) => {
      if (Array.isArray(value))
        return key === '*' ? value : /^\d$/.test(key) ? value.slice(Number(key), Number(key) + 1) : []
      const isObject = typeof value === 'object' && value !== null && !/^[\d*]$/.test(key)
      return isObject && Object.hasOwn(value, key) ? [(value as Record<string, unknown>)[key]] : []
    })
  const [[name = '', operand] = []] = Object.entries(operators)
  if (name === 'exists') return values.length > 0 === operand
  return values.some((value) => compared(name, value, operand))
}

function compared(name: string, value: unknown, operand: unknown): boolean {
  const list = operand as unknown[]
  const text = typeof value === 'string' ? value : undefined
  const alike = typeof value === typeof operand && (typeof value === 'number' || typeof value === 'string')
  switch (name) {
    case 'eq':
      return value === operand
    case 'ne':
      return value !== operand
    case 'in':
      return list.some((each) => each === value)
    case 'nin':
      return list.every((each) => each !== value)
    case 'startsWith':
      return text !== undefined && text.slice(0, list.length) === operand
    case 'endsWith':
      return (
        text !== undefined && text.slice(text.length - list.length) === operand && text.length >= list.length
      )
    case 'contains':
      return text !== undefined && text.indexOf(String(operand)) >= 0
    case 'matches':
      return text !== undefined && new RegExp(String(operand)).test(text)
    default: {
      if (!alike) return false
      const [a, b] = [value as number, operand as number]
      return { gt: a > b, gte: a >= b, lt: a < b, lte: a <= b }[name] ?? false
    }
  }
}

function wholeOf({ properties, traits, ...event }: Event): Record<string, unknown> {
  const whole = {
    ...event,
    ...(properties === null ? {} : { properties: JSON.parse(properties) }),
    ...(traits === null ? {} : { traits: JSON.parse(traits) }),
  }
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== null))
}

test('filters agree with the naive evaluator', () => {
  fc.assert(
    fc.property(filters, events, (filter, event) => {
      expect(holds(filter, event)).toBe(naive(filter, wholeOf(event)))
    }),
    { numRuns: 2_000 },
  )
})

test('the named part of the filter does not hold by itself either', () => {
  fc.assert(
    fc.property(filters, events, (filter, event) => {
      const pointer = decide(filter, event)
      if (pointer === undefined) return
      const keys = pointer.split('/').slice(2)
      const group = /^(any|not)$/.test(keys.at(-1) ?? '') ? keys.slice(0, -1) : keys
      const part = group.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], filter)
      expect(naive(part as Filter, wholeOf(event))).toBe(false)
    }),
    { numRuns: 1_000 },
  )
})

describe('event names that can pass, for an index', () => {
  const eq = (name: string) => ({ path: 'event', eq: name })
  test.each([
    [eq('A'), ['A']],
    [{ path: 'event', in: ['A', 'B', 1] }, ['A', 'B']],
    [
      {
        all: [
          { path: 'type', eq: 'track' },
          { path: 'event', in: ['A', 'B'] },
          { path: 'event', in: ['B', 'C'] },
        ],
      },
      ['B'],
    ],
    [{ all: [eq('A'), eq('B')] }, []],
    [{ any: [eq('A'), { all: [eq('B'), { path: 'properties.x', gt: 1 }] }] }, ['A', 'B']],
    [{ any: [eq('A'), { path: 'type', eq: 'page' }] }, undefined],
    [{ not: eq('A') }, undefined],
    [{ path: 'event', ne: 'A' }, undefined],
    [{ path: 'event', startsWith: 'A' }, undefined],
    [{ path: 'properties.event', eq: 'A' }, undefined],
  ])('%j', (filter, names) => {
    const found = eventNamesOf(rulesShape.parse({ filter }).filter ?? {})
    expect(found && [...found]).toEqual(names)
  })

  test('no event with another name passes', () => {
    fc.assert(
      fc.property(filters, events, (filter, event) => {
        const names = eventNamesOf(filter)
        if (names && holds(filter, event)) expect(names).toContain(event.event)
      }),
      { numRuns: 1_000 },
    )
  })
})
