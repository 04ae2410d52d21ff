import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { render } from '../../delivery/render.ts'
import { callOf, MAX_BODY_BYTES } from '../../rules/call.ts'
import { compileRules } from '../../rules/compile.ts'
import type { Rules } from '../../rules/rules.ts'
import { compileShape } from '../../rules/shape.ts'
import type { Event } from '../../schemas/event.ts'
import { codePoint } from '../helpers/code-point.ts'
import { anEvent } from '../helpers/events.ts'

const order = anEvent({
  event: 'Order Paid',
  timestamp: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  properties: JSON.stringify({
    total: 12.5,
    count: '12',
    paid: true,
    unpaid: false,
    zero: 0,
    coupon: null,
    title: '  Größe "L" <b>&\n',
    when: '2026-03-04T05:06:07+02:00',
    tags: ['new', 'sale'],
    empty: [],
    products: [{ sku: 'a' }, { sku: 'b' }, {}],
    'a|b }} "c"': 1,
    faces: '\u{1f600}\u{1f601}\u{1f602}',
  }),
  context: '{"ip":"203.0.113.9","integrations":{"All":false}}',
})

function shaped(shape: NonNullable<Rules['shape']>, event: Event = order): string {
  const result = compileRules({ shape }, Buffer.alloc(32), render).run(event)
  return result.outcome === 'sent' ? result.body : JSON.stringify(result)
}

const readBack = (text: string, event?: Event): unknown => JSON.parse(shaped({ it: text }, event)).it

describe('a string that is only a placeholder keeps the type of its value', () => {
  test.each([
    ['{{properties.total}}', 12.5],
    ['{{ properties.paid }}', true],
    ['{{properties.coupon}}', null],
    ['{{properties.tags}}', ['new', 'sale']],
    ['{{properties.products[*].sku}}', ['a', 'b']],
    ['{{properties.products[1]}}', { sku: 'b' }],
    ['{{properties.empty}}', []],
    ['{{properties.empty[*]}}', undefined],
    ['{{properties.none}}', undefined],
    ['{{traits}}', undefined],
    ['{{context}}', { ip: '203.0.113.9' }],
    ['{{type}}', 'track'],
    ['{{timestamp}}', '2026-01-02T03:04:05.678Z'],
    ['{{properties["a|b }} \\"c\\""]}}', 1],
    ['{{"constant"}}', 'constant'],
  ])('%s', (text, expected) => {
    expect(readBack(text)).toEqual(expected)
  })
})

describe('inside other text, a value becomes a string', () => {
  test.each([
    ['', ''],
    ['no placeholder, } and { and }}', 'no placeholder, } and { and }}'],
    ['{{"{{"}} is a literal', '{{ is a literal'],
    ['{{event}}: {{properties.total}}', 'Order Paid: 12.5'],
    ['[{{properties.none}}{{properties.coupon}}]', '[]'],
    ['paid {{properties.paid}}', 'paid true'],
    ['tags {{properties.tags}}', 'tags ["new","sale"]'],
    ['{{userId}}{{userId}}', 'u1u1'],
    [' {{properties.total}}', ' 12.5'],
  ])('%j', (text, expected) => {
    expect(readBack(text)).toBe(expected)
  })
})

describe('filters', () => {
  test.each([
    ['{{properties.none | default: "x"}}', 'x'],
    ['{{properties.none | default: 0}}', 0],
    ['{{"" | default: "x"}}', 'x'],
    ['{{"" | default: properties.none}}', undefined],
    ['{{properties.empty | default: "x"}}', []],
    ['{{properties.empty | size | default: "x"}}', 0],
    ['{{properties.none | default: null}}', null],
    ['{{properties.none | default: ["a", {"b": 1}]}}', ['a', { b: 1 }]],
    ['{{properties.coupon | default: "none"}}', 'none'],
    ['{{groupId | default: properties.count}}', '12'],
    ['{{groupId | default: traits.x | default: "last"}}', 'last'],
    ['{{properties.total | default: 0}}', 12.5],
    ['{{properties.tags | json}}', '["new","sale"]'],
    ['{{properties.none | json}}', undefined],
    ['{{properties.total | string}}', '12.5'],
    ['{{properties.tags | string}}', '["new","sale"]'],
    ['{{properties.count | number}}', 12],
    ['{{properties.total | number}}', 12.5],
    ['{{event | number}}', undefined],
    ['{{properties.paid | number}}', undefined],
    ['{{"1e400" | number}}', undefined],
    ['{{"0x10" | number}}', undefined],
    ['{{event | upper}}', 'ORDER PAID'],
    ['{{event | lower}}', 'order paid'],
    ['{{properties.title | trim}}', 'Größe "L" <b>&'],
    ['{{properties.title | trim | escape}}', 'Größe "L" &lt;b&gt;&amp;'],
    ['{{properties.title | trim | urlencode}}', 'Gr%C3%B6%C3%9Fe%20%22L%22%20%3Cb%3E%26'],
    ['{{event | truncate: 5}}', 'Order'],
    ['{{properties.faces | truncate: 2}}', '\u{1f600}\u{1f601}'],
    ['{{properties.tags | join: ", "}}', 'new, sale'],
    ['{{properties.products[*].sku | join: "/"}}', 'a/b'],
    ['{{properties.empty | join: "/"}}', ''],
    ['{{properties.total | join: "/"}}', '12.5'],
    ['{{properties.none | join: "/"}}', undefined],
    ['{{properties.coupon | join: "/"}}', null],
    ['{{properties.zero | join: "/"}}', '0'],
    ['{{properties.unpaid | join: "/"}}', 'false'],
    ['{{properties.tags | size}}', 2],
    ['{{event | size}}', 10],
    ['{{context | size}}', 1],
    ['{{properties.total | size}}', undefined],
    ['{{timestamp | unix}}', 1_767_323_045],
    ['{{receivedAt | unix}}', 1_700_000_000],
    ['{{properties.when | unix}}', 1_772_593_567],
    ['{{event | unix}}', undefined],
    ['{{"2026-13-45" | unix}}', undefined],
    ['{{"2026-02-30" | unix}}', undefined],
    ['{{"2026-01-02T03:04:05" | unix}}', undefined],
    ['{{timestamp | date}}', '2026-01-02'],
    ['{{"2028-02-29" | date}}', '2028-02-29'],
    ['{{"2026-02-29" | date}}', undefined],
    ['{{"2026-04-31T10:00:00Z" | date}}', undefined],
    ['{{"9999-12-31T23:59:59Z" | date}}', '9999-12-31'],
    ['{{"9999-12-31T23:00:00-12:00" | date}}', undefined],
    ['{{"0000-01-01T00:00:00+12:00" | date}}', undefined],
    ['{{properties.when | date}}', '2026-03-04'],
    ['{{properties.none | upper | default: "x" | upper}}', 'X'],
    ['at {{timestamp | unix}}!', 'at 1767323045!'],
    ['{{event|upper|truncate:5}}', 'ORDER'],
    ['{{event | default: "a|b }}" }}', 'Order Paid'],
  ])('%s', (text, expected) => {
    expect(readBack(text)).toEqual(expected)
  })
})

test('missing values leave out their key or entry; constants stay', () => {
  const shape = {
    a: '{{properties.none}}',
    b: [1, '{{properties.none}}', null],
    c: { d: '{{traits.x}}' },
    e: '',
    f: 1e21,
  }
  expect(shaped(shape)).toBe('{"b":[1,null],"c":{},"e":"","f":1e+21}')
  expect(shaped(['{{event}}', '{{traits}}'])).toBe('["Order Paid"]')
  expect(shaped({})).toBe('{}')
})

test('a page shows its name and category in its properties', () => {
  const page = anEvent({ type: 'page', name: 'Home', properties: '{"url":"/"}' })
  expect(shaped({ p: '{{properties}}' }, page)).toBe('{"p":{"url":"/","name":"Home"}}')
  expect(shaped({ p: '{{properties}}' }, { ...page, properties: null })).toBe('{"p":{"name":"Home"}}')
})

test('a deletion keeps its own body', () => {
  const deletion = anEvent({ type: 'delete' })
  expect(shaped({ a: 1 }, deletion)).toBe(
    '{"type":"delete","userId":"u1","timestamp":"2023-11-14T22:13:20.000Z"}',
  )
})

describe('the body has at most 256 KB', () => {
  const largest = 'x'.repeat(32_000)
  const event = anEvent({ properties: JSON.stringify({ text: largest, wide: 'ß'.repeat(16_000) }) })
  const copies = (count: number, text = '{{properties.text}}') => Array.from({ length: count }, () => text)

  test('up to the last byte', () => {
    const exact = MAX_BODY_BYTES - '["",""]'.length
    const fits = ['x'.repeat(exact - 32_000), '{{properties.text}}']
    expect(shaped(fits, event)).toHaveLength(MAX_BODY_BYTES)
    expect(shaped([`x${fits[0]}`, fits[1]], event)).toContain('"too_large"')
  })

  test.each([
    [copies(9)],
    [copies(200)],
    [copies(9).join('')],
    [{ a: copies(9).join(' and ') }],
    [copies(9, '{{properties.wide}} ')],
    [copies(9, '{{properties}}')],
    [['x'.repeat(MAX_BODY_BYTES)]],
    [copies(1, '{{properties.text | json | json | json | json}}').concat(copies(8))],
  ])('shape $#', (shape) => {
    const result = compileRules({ shape: [shape] }, Buffer.alloc(32), render).run(event)
    expect(result).toMatchObject({ outcome: 'failed', code: 'too_large' })
    expect(JSON.parse(result.outcome === 'failed' ? result.body : '')).toMatchObject({ type: 'track' })
  })

  test('stops at the first value that does not fit', () => {
    for (const shape of [copies(200), copies(200, 'a {{properties.text}}')]) {
      const call = callOf(event)
      compileShape(shape)?.(call)
      expect(call.budget.output).toBeLessThan(0)
      expect(call.budget.output).toBeGreaterThan(-33_000)
    }
  })

  test('counts bytes, not characters', () => {
    expect(shaped(copies(9, '{{properties.wide}}'), event)).toContain('"too_large"')
    expect(shaped(copies(8, '{{properties.wide}}'), event)).toHaveLength(8 * 16_003 + 1)
  })

  test('repeated doubling by filters is stopped too', () => {
    const quotes = anEvent({ properties: JSON.stringify({ q: '"'.repeat(16_000) }) })
    const text = '{{properties.q | json | json | json | json | json}}'
    expect(shaped({ text }, quotes)).toContain('"too_large"')
  })
})

const json = fc.jsonValue({ maxDepth: 3 })
const events = fc
  .record({
    type: fc.constantFrom('identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'),
    event: fc.option(fc.string({ unit: codePoint })),
    userId: fc.option(fc.string({ unit: codePoint })),
    name: fc.option(fc.string()),
    properties: fc.option(fc.dictionary(fc.string(), json)),
    traits: fc.option(fc.dictionary(fc.string(), json)),
    repeated: fc.constantFrom(1, 1, 1, 5_000),
  })
  .map(({ properties, traits, repeated, ...texts }) =>
    anEvent({
      ...texts,
      properties:
        properties && JSON.stringify({ ...properties, a: ['"\\\u0000<&ß'.repeat(repeated), 1, null] }),
      traits: traits && JSON.stringify(traits),
    }),
  )
const source = fc.constantFrom(
  'event',
  'type',
  'timestamp',
  'name',
  'properties',
  'traits',
  'properties.a',
  'properties.a[*]',
  'properties.a[0]',
  'properties.none',
  '"constant"',
)
const filter = fc.constantFrom(
  'default: "x"',
  'default: traits',
  'json',
  'string',
  'number',
  'upper',
  'lower',
  'trim',
  'truncate: 3',
  'join: ", "',
  'size',
  'unix',
  'date',
  'escape',
  'urlencode',
)
const placeholder = fc
  .tuple(source, fc.array(filter, { maxLength: 5 }))
  .map(([from, filters]) => `{{${[from, ...filters].join(' | ')}}}`)
const text = fc
  .array(fc.oneof(placeholder, fc.string({ maxLength: 5 })), { maxLength: 4 })
  .map((parts) => parts.join(''))
const shapes = fc.letrec<{ shape: unknown }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.constantFrom(null, 1, true),
    fc.array(tie('shape'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('shape'), { maxKeys: 4 }),
  ),
})).shape

test('a shape never throws, never exceeds its bounds, and gives JSON that survives parse and stringify', () => {
  const outcomes = new Set<string>()
  fc.assert(
    fc.property(fc.oneof(fc.array(shapes), fc.dictionary(fc.string(), shapes)), events, (shape, event) => {
      const result = compileRules({ shape }, Buffer.alloc(32), render).run(event)
      outcomes.add(result.outcome === 'failed' ? result.code : result.outcome)
      const body = result.outcome === 'sent' || result.outcome === 'failed' ? result.body : ''
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(MAX_BODY_BYTES)
      expect(JSON.stringify(JSON.parse(body))).toBe(body)
    }),
    { numRuns: 1_000 },
  )
  expect(outcomes).toContain('sent')
})
