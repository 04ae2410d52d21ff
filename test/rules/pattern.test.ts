import { hash } from 'node:crypto'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test, vi } from 'vitest'
import { isWrong } from '../../rules/path.ts'
import {
  compilePattern,
  MAX_KEPT_BYTES,
  MAX_PATTERN_LENGTH,
  patternCompilations,
} from '../../rules/pattern.ts'

const wrongOf = (text: string) => {
  const pattern = compilePattern(text)
  return isWrong(pattern) ? pattern.wrong : undefined
}

test.each([
  ['^[A-Z0-9._%+-]{1,64}@[A-Z0-9.-]{1,255}$', undefined],
  ['^(?i)order (paid|refunded)$', undefined],
  ['^/products/[^/]+/reviews(?:\\?.*)?$', undefined],
  ['\\p{Greek}\\x{1F600}[[:alpha:]]', undefined],
  ['^\\d{4}-\\d{2}-\\d{2}T', undefined],
  ['(?P<year>\\d+)', undefined],
  ['[', 'missing closing ]: `[`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?<=a)b', 'invalid named capture: `(?<=a)b`'],
  ['(a)\\1', 'invalid escape sequence: `\\1`'],
  ['a{1001}', 'is too large when its repetitions are written out: at most 1000 steps'],
  ['(a{30}){40}', 'is too large when its repetitions are written out: at most 1000 steps'],
  ['a{0,600}', 'takes 1202 steps: at most 1000'],
  ['^\\p{L}{2,40}$', undefined],
  ['^(?i)[\\pL\\pN._-]{1,64}@[\\pL\\pN.-]{1,255}$', undefined],
  ['\\pL'.repeat(320), 'has too many classes of characters such as \\pL: repeat one instead, as in \\pL{3}'],
  ['a'.repeat(MAX_PATTERN_LENGTH + 1), 'at most 1024 characters'],
])('%s', (text, wrong) => {
  expect(wrongOf(text)).toBe(wrong)
})

// if accepted, each would take RE2 a second to compile, or 30 s to match 32 KB
test.each([
  '(.{1000}){1}'.repeat(80),
  '\\pL{1000}'.repeat(100),
  '(|a){1000}'.repeat(100),
  '((a{10}){10}){10}'.repeat(50),
  '(?:[^](]a{100}){10}'.repeat(50),
  '(?:[[:alpha:](]a{100}){10}'.repeat(39),
  '(?:[\\](]a{100}){10}'.repeat(50),
  '((?i)a{100}){10}'.repeat(50),
  '(?P<n>\\Q(\\Ea{100}){10}'.repeat(40),
  '(?:\\(a{100}){10}'.repeat(50),
])('the hostile pattern $# is refused before RE2 compiles it', (text) => {
  expect(wrongOf(text)).toBe('is too large when its repetitions are written out: at most 1000 steps')
})

test('a pattern has at most 1,000 instructions, however it is written', () => {
  const atom = fc.constantFrom(
    'a',
    '.',
    '\\d',
    '\\pL',
    '[^](]',
    '[[:alpha:](]',
    '\\(',
    '\\Q(\\E',
    '(?i)',
    '|',
    '[\\]]',
  )
  const pattern = fc.letrec<{ part: string }>((tie) => ({
    part: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      atom,
      fc.tuple(tie('part'), tie('part')).map(([a, b]) => a + b),
      fc
        .tuple(fc.constantFrom('(', '(?:', '(?i:', '(?P<x>', '(?<x>'), tie('part'))
        .map(([a, b]) => `${a}${b})`),
      fc
        .tuple(tie('part'), fc.constantFrom('*', '+?', '{2}', '{0,9}', '{7,}', '{1000}'))
        .map(([a, b]) => `(?:${a})${b}`),
    ),
  })).part
  let accepted = 0
  fc.assert(
    fc.property(pattern, (text) => {
      const compiled = compilePattern(text)
      if (isWrong(compiled)) return
      accepted++
      expect(compiled.instructions).toBeLessThanOrEqual(1_000)
      expect(typeof compiled.test('aaaa')).toBe('boolean')
    }),
    { numRuns: 1_000 },
  )
  expect(accepted).toBeGreaterThan(100)
})

test('a pattern finds what JavaScript finds, if both read it the same way', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '[ab]',
    '(a|b)',
    'a*',
    'b+',
    '(?:ab)?',
    '^',
    '$',
    'a{2}',
    '\\d',
    '\\b',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), fc.stringMatching(/^[ab1 ]{0,12}$/), (pieces, text) => {
      const pattern = compilePattern(pieces.join(''))
      expect(isWrong(pattern) || pattern.test(text)).toBe(
        isWrong(pattern) || new RegExp(pieces.join('')).test(text),
      )
    }),
    { numRuns: 1_000 },
  )
})

// with its default, RE2 would fill 8 MB for this pattern and take ten times as long
test('a pattern that keeps needing new states takes at most 256 KB and still matches', () => {
  const compile = vi.spyOn(RE2JS, 'compile')
  const pattern = compilePattern('(a|b)*a(a|b|c){60}(c|b)*$')
  const compiled = compile.mock.results[0]?.value
  compile.mockRestore()
  const random = (index: number) => Number.parseInt(hash('sha256', String(index), 'hex').slice(0, 8), 16)
  const text = Array.from({ length: 20_000 }, (_, index) => 'abc'[random(index) % 3]).join('')
  expect(isWrong(pattern) || pattern.test(`${text}a${'b'.repeat(60)}`)).toBe(true)
  const states = [...compiled.re2Input.dfa.cachedStates()]
  expect(states.length).toBeGreaterThan(10)
  expect(states.length).toBeLessThan(1_000)
})

test('equal patterns are compiled once', () => {
  const before = patternCompilations()
  for (let count = 0; count < 100; count++) compilePattern('^an equal pattern$')
  expect(patternCompilations()).toBe(before + 1)
})

test('patterns of many destinations take a bounded amount of memory, and those that were dropped still match', () => {
  const count = 1_500
  const patterns = Array.from({ length: count }, (_, nth) => compilePattern(`${'(a|b)'.repeat(190)}${nth}$`))
  const compiled = patternCompilations()
  const holds = (nth: number) => {
    const pattern = patterns[nth]
    return pattern && !isWrong(pattern) && pattern.test(`${'ab'.repeat(95)}${nth}`)
  }
  expect([holds(0), holds(count - 1)]).toEqual([true, true])
  // the first was dropped, the last was not
  expect(patternCompilations()).toBe(compiled + 1)
  expect(MAX_KEPT_BYTES).toBeLessThanOrEqual(128 * 1024 * 1024)
})
