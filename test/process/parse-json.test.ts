import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutLongNames, NAME_CHARS, parseJson, withPlainNames } from '../../process/parse-json.ts'

/** Each character as an escape. */
const escaped = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/\\u....|\\.|[^\\]/gs, (each) => (each[0] === '\\' ? each : hex(each.charCodeAt(0))))
const hex = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`

describe('a member keeps its name, whatever names came before', () => {
  test.each([
    ['名前', '\\u', '\\u540d\\u524d'],
    ['größe', 'gr\\u0', 'gr\\u00f6\\u00dfe'],
    ['"', '\\', '\\"'],
    ['\n', '\\', '\\n'],
    ['\ud800', '\\', '\\ud800'],
    ['\\', '/', '\\\\'],
    ['\x7f0022', '\\u007', '\\u007f0022'],
  ])('%j after %j', (name, earlier, spelled) => {
    const parent = JSON.stringify(`before ${earlier}`)
    JSON.parse(`{${parent}:1,${JSON.stringify(earlier)}:2}`)
    const parsed = parseJson(`{${parent}:1,"${spelled}" :2}`)
    expect(Object.keys(parsed as object)).toEqual([`before ${earlier}`, name])
  })

  test('also beyond the first 2,500, if no earlier name is like it', () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`\n${at}`, at])))
    expect(JSON.stringify(parseJson(text))).toBe(text)
  })

  test('also with any names, in any order, at any depth', () => {
    const names = fc.string({
      unit: fc.constantFrom('\\', 'u', '0', '"', '\n', 'é', '\ud800', '\x7f', '2', 'a'),
    })
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 3 }, fc.string(), fc.array(tie('tree')), fc.dictionary(names, tie('tree'))),
    }))
    const spelled = (value: unknown): string => {
      if (typeof value !== 'object' || value === null) return JSON.stringify(value)
      if (Array.isArray(value)) return `[${value.map(spelled).join(' , ')}]`
      return `{${Object.entries(value)
        .map(([name, inner]) => `"${escaped(name)}" : ${spelled(inner)}`)
        .join()}}`
    }
    fc.assert(
      fc.property(tree, (value) => {
        const printed = JSON.stringify(value)
        expect(JSON.stringify(parseJson(printed))).toBe(printed)
        expect(JSON.stringify(parseJson(spelled(value)))).toBe(printed)
      }),
      { numRuns: 500 },
    )
  })
})

test('of members with the same name, however it is spelled, the last one counts', () => {
  const spelling = fc.constantFrom('\\n', '\\u000a', '\\u000A', 'a', '\\u0061', '\\u007f', '\x7f')
  fc.assert(
    fc.property(fc.array(spelling), (spellings) => {
      const text = `{${spellings.map((spelled, index) => `"${spelled}":${index}`).join(',')}}`
      const expected: Record<string, number> = {}
      for (const [index, spelled] of spellings.entries()) expected[JSON.parse(`"${spelled}"`)] = index
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(expected))
    }),
  )
})

test('objects without such names are not copied', () => {
  const { text, restore } = withPlainNames('[{"\\n":{"a":{}}},{"b":[{}]}]')
  const parsed = JSON.parse(text) as object[]
  const other = parsed[1]
  expect(restore(parsed)).toEqual([{ '\n': { a: {} } }, { b: [{}] }])
  expect(parsed[1]).toBe(other)
})

test('a member that stays the same is not assigned: V8 would take as long for it as for a new one', () => {
  const inner = {}
  const unchanged = Object.defineProperty({}, 'a', { get: () => inner, enumerable: true })
  const { text, restore } = withPlainNames('{"\\n":0}')
  expect(() => restore([JSON.parse(text), unchanged])).not.toThrow()
})

test('refuses exactly what JSON.parse refuses', () => {
  const isJson = (text: string, parse: (text: string) => unknown) => {
    try {
      parse(text)
      return true
    } catch {
      return false
    }
  }
  const pieces = fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '\\u0061',
    '\\u00',
    '{',
    '}',
    ':',
    ',',
    'a',
    '1',
    ' ',
    '\n',
    '[',
    ']',
  )
  fc.assert(
    fc.property(
      fc.array(pieces).map((all) => all.join('')),
      fc.boolean(),
      (inner, isMember) => {
        const text = isMember ? `{"a${inner}":1}` : inner
        expect(isJson(text, parseJson)).toBe(isJson(text, JSON.parse))
      },
    ),
    { numRuns: 2_000 },
  )
})

test('deep nesting does not exhaust the stack', () => {
  const deep = 100_000
  expect(() => parseJson(`${'{"\\n":'.repeat(deep)}1${'}'.repeat(deep)}`)).not.toThrow(RangeError)
})

test('an invalid escape stays invalid', () => {
  const wrong = String.raw`{"a\n":1,"b\x":2}`
  expect(() => JSON.parse(withPlainNames(wrong).text)).toThrow(SyntaxError)
})

/** Whether a name is cut, and nothing else is changed. */
function isCut(text: string): boolean {
  const cut = cutLongNames(text)
  const shortened = text.replaceAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/gs, (whole, name: string, colon = '') =>
    colon && name.length > NAME_CHARS
      ? `"${name.slice(0, NAME_CHARS).replaceAll(/["\\]/g, '_')}…"${colon}`
      : whole,
  )
  expect(cut === shortened).toBe(true)
  return cut !== text
}

describe('only names of more than 10,000 characters are cut', () => {
  const long = 'x'.repeat(NAME_CHARS + 1)
  const allowed = 'x'.repeat(NAME_CHARS)

  test.each([
    ['one', `{"${long}":1}`, true],
    ['one that is allowed', `{"${allowed}":1}`, false],
    ['behind spaces', `{"${long}" \n:1}`, true],
    ['with quotes in it', `{"${'\\"'.repeat(NAME_CHARS)}":1}`, true],
    ['with escaped backslashes at its ends', `{"\\\\${long}\\\\":1}`, true],
    ['deep in a batch', `{"batch":[{"a":"b"},{"properties":{"c":{"${long}":[]}}}]}`, true],
    ['in an invalid text', `{"${long}":1,`, true],
    ['one that never ends', `{"${long}`, false],
    ['a value', `{"a":"${long}"}`, false],
    ['a value before a name', `{"a":"${long}","b":1}`, false],
    ['a value with quotes in it', `["${'\\"'.repeat(NAME_CHARS)}"]`, false],
    ['numbers before a text that begins with a colon', `[${'1,'.repeat(NAME_CHARS)}":a"]`, false],
    ['no quotes', '1'.repeat(3 * NAME_CHARS), false],
  ])('%s', (_, text, expected) => {
    expect(isCut(text)).toBe(expected)
  })

  test('wherever quotes and backslashes are', () => {
    /** A number stands for as many letters: counterexamples stay short. */
    const pieces = fc.array(
      fc.constantFrom('\\"', '\\\\', 'x', ':', ' ', 4_000, 9_998, 9_999, 10_000, 10_001),
      { maxLength: 5 },
    )
    const member = fc.record({ name: pieces, space: fc.constantFrom('', ' '), value: fc.option(pieces) })
    const string = (of: readonly (string | number)[]) =>
      `"${of.map((each) => (typeof each === 'number' ? 'y'.repeat(each) : each)).join('')}"`
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), (members) => {
        const texts = members.map(
          ({ name, space, value }) =>
            `${string(name)}${space}:${value ? string(value) : `[${'1,'.repeat(6_000)}1]`}`,
        )
        const isLong = members.some(({ name }) => string(name).length - 2 > NAME_CHARS)
        expect(isCut(`{${texts.join(',')}}`)).toBe(isLong)
      }),
      { numRuns: 1_000 },
    )
  })
})

test('V8 never sees a name of more than 16,383 characters', () => {
  const piece = fc.constantFrom('\\n', '\\u0000', '\x7f', 'é', '\\u00e9', 'x')
  const name = fc.tuple(piece, fc.constantFrom(1, 1_600, 3_300, 10_000, 10_001, 17_000))
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
      const text = `{"\\n":0,${names.map(([unit, times]) => `"${unit.repeat(times)}":1`).join(',')}}`
      const plain = withPlainNames(cutLongNames(text)).text
      const seen = Object.keys(JSON.parse(plain)).map(({ length }) => length)
      expect(Math.max(...seen)).toBeLessThan(16_384)
    }),
  )
})
