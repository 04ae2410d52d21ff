import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EACH, isWrong, MAX_PATH_LENGTH, parsePath } from '../../rules/path.ts'
import { codePoint } from '../helpers/code-point.ts'

test.each([
  ['event', []],
  ['properties', []],
  ['properties.total', ['total']],
  ['context.page.url', ['page', 'url']],
  ['properties.$os.utm-source.größe', ['$os', 'utm-source', 'größe']],
  ['properties["a b"]["x.y"]["]"]', ['a b', 'x.y', ']']],
  ['properties["\\"\\u0041"]', ['"A']],
  ['properties[""]', ['']],
  ['properties.items[0].sku', ['items', 0, 'sku']],
  ['properties.items[*]["a b"]', ['items', EACH, 'a b']],
  ['traits.__proto__', ['__proto__']],
])('%s is read as its names and indexes', (text, keys) => {
  expect(parsePath(text)).toEqual({ root: text.split(/[.[]/)[0], keys })
})

describe('a fault says where a path is wrong', () => {
  test.each([
    ['', 'a path begins with one of type, event, userId'],
    ['total', 'a path begins with one of'],
    ['evnet', 'did you mean event? a path begins with one of'],
    ['propertys.total', 'did you mean properties? a path begins with one of'],
    ['userid', 'did you mean userId? a path begins with one of'],
    ['Properties.total', 'a path begins with one of'],
    ['__proto__', 'a path begins with one of'],
    ['properties.', 'is invalid at character 11'],
    ['properties..a', 'is invalid at character 11'],
    ['properties.a b', 'is invalid at character 13'],
    ['properties[a]', 'is invalid at character 11'],
    ['properties[-1]', 'is invalid at character 11'],
    ["properties['a']", 'is invalid at character 11'],
    ['properties["a]', 'is invalid at character 11'],
    ['properties["\\x"]', 'is invalid at character 11'],
    ['properties.*', undefined],
    ['properties.a|upper', 'is invalid at character 13'],
    ['properties.{a}', 'is invalid at character 11'],
    ['event.name', 'event has no fields'],
    [`properties${'.a'.repeat(33)}`, 'a path has at most 32 names and indexes'],
    [`properties.${'a'.repeat(MAX_PATH_LENGTH)}`, 'a path has at most 512 characters'],
  ])('%s', (text, wrong) => {
    const parsed = parsePath(text)
    expect(isWrong(parsed) ? parsed.wrong : undefined).toEqual(wrong && expect.stringContaining(wrong))
  })
})

test('every bracketed name and index parses back to itself', () => {
  const key = fc.oneof(fc.string({ unit: codePoint, maxLength: 10 }), fc.nat(999_999), fc.constant(EACH))
  fc.assert(
    fc.property(fc.array(key, { maxLength: 5 }), (keys) => {
      const text = keys.map((each) => (each === EACH ? '[*]' : `[${JSON.stringify(each)}]`)).join('')
      expect(parsePath(`traits${text}`)).toEqual({ root: 'traits', keys })
    }),
  )
})

test('every text parses or is refused', () => {
  const piece = fc.constantFrom(
    'properties',
    '.',
    '[',
    ']',
    '"',
    '\\',
    '*',
    '0',
    'a',
    ' ',
    '{',
    '|',
    '\u0000',
  )
  fc.assert(
    fc.property(
      fc.array(piece).map((pieces) => pieces.join('')),
      (text) => {
        expect(parsePath(text)).toBeDefined()
      },
    ),
  )
})
