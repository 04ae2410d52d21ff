import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { render } from '../../delivery/render.ts'
import { compileRules } from '../../rules/compile.ts'
import {
  MAX_CONDITIONS,
  MAX_DEPTH,
  MAX_PATTERNS,
  MAX_PLACEHOLDERS,
  MAX_REDACTIONS,
  MAX_VALUES,
  rulesFaults,
} from '../../rules/faults.ts'
import { patternCompilations } from '../../rules/pattern.ts'
import { OPERATORS, REDACTIONS, rulesShape } from '../../rules/rules.ts'
import { codePoint } from '../helpers/code-point.ts'
import { anEvent } from '../helpers/events.ts'

const faultsOf = (rules: unknown) => rulesFaults(rulesShape.parse(rules), ['rules'])
const ok = { path: 'event', eq: 'A' }
const nested = (depth: number): unknown => (depth === 1 ? ok : { not: nested(depth - 1) })
const list = (depth: number): unknown => (depth === 0 ? 'x' : [list(depth - 1)])

describe('a fault says what is wrong and where', () => {
  test.each([
    // filter
    [{ filter: {} }, '/rules/filter', 'required', 'give one of all, any, not, or a path with an operator'],
    [
      { filter: { eq: 1 } },
      '/rules/filter',
      'required',
      'give one of all, any, not, or a path with an operator',
    ],
    [{ filter: { all: [ok], any: [ok] } }, '/rules/filter', 'invalid_value', 'found all, any'],
    [{ filter: { all: [ok], eq: 1 } }, '/rules/filter', 'invalid_value', 'found all, eq'],
    [{ filter: { all: [] } }, '/rules/filter/all', 'too_few', 'at least one filter'],
    [{ filter: { any: [ok, {}] } }, '/rules/filter/any/1', 'required', 'give one of all'],
    [{ filter: { path: 'event' } }, '/rules/filter', 'required', 'event: give an operator, such as eq'],
    [{ filter: { ...ok, ne: 'B' } }, '/rules/filter', 'invalid_value', 'event: give only one operator'],
    [
      { filter: { path: 'total', eq: 1 } },
      '/rules/filter/path',
      'invalid_path',
      'total: a path begins with one of',
    ],
    [
      { filter: { path: 'properties.a b', eq: 1 } },
      '/rules/filter/path',
      'invalid_path',
      'properties.a b: is invalid at character 13',
    ],
    [{ filter: { path: 'event', in: [] } }, '/rules/filter/in', 'too_few', 'event: at least one value'],
    [
      { filter: { path: 'event', in: Array(MAX_VALUES + 1).fill('a') } },
      '/rules/filter/in',
      'too_many',
      'at most 1,000 values',
    ],
    [
      { filter: { path: 'event', nin: ['a', 'b'.repeat(1_025)] } },
      '/rules/filter/nin/1',
      'too_long',
      'at most 1,024 characters',
    ],
    [
      { filter: { path: 'event', contains: 'b'.repeat(1_025) } },
      '/rules/filter/contains',
      'too_long',
      'at most 1,024 characters',
    ],
    [
      { filter: { path: 'event', matches: '(' } },
      '/rules/filter/matches',
      'invalid_pattern',
      'event: missing closing )',
    ],
    [
      { filter: { path: 'event', matches: 'a{1001}' } },
      '/rules/filter/matches',
      'invalid_pattern',
      'event: is too large',
    ],
    [
      { filter: nested(MAX_DEPTH + 1) },
      `/rules/filter${'/not'.repeat(MAX_DEPTH)}`,
      'too_deep',
      'is nested deeper than 10 levels',
    ],
    [
      { filter: { any: Array(MAX_CONDITIONS + 1).fill(ok) } },
      '/rules/filter',
      'too_many',
      'has 101 conditions: at most 100 are allowed',
    ],
    [
      { filter: { any: Array(MAX_PATTERNS + 1).fill({ path: 'event', matches: 'a' }) } },
      '/rules/filter',
      'too_many',
      'has 21 conditions with matches: at most 20 are allowed',
    ],
    // redact
    [
      { redact: [{ path: 'ip', as: 'drop' }] },
      '/rules/redact/0/path',
      'invalid_path',
      'ip: a path begins with',
    ],
    [
      { redact: [{ path: 'messageId', as: 'drop' }] },
      '/rules/redact/0/path',
      'invalid_value',
      'messageId: cannot be redacted',
    ],
    [
      { redact: [{ path: 'traits', as: 'hash' }] },
      '/rules/redact/0/as',
      'invalid_value',
      'traits: an object can only be dropped',
    ],
    [
      { redact: Array(MAX_REDACTIONS + 1).fill({ path: 'userId', as: 'drop' }) },
      '/rules/redact',
      'too_many',
      'has 101 entries: at most 100 are allowed',
    ],
    // shape
    [
      { shape: { a: { b: ['{{x}}'] } } },
      '/rules/shape/a/b/0',
      'invalid_placeholder',
      '{{x}}: a path begins with',
    ],
    [
      { shape: ['{{event'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the placeholder at character 1 is not closed',
    ],
    [
      { shape: ['a {{ "b }}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'in the placeholder at character 3, a quoted text is not closed: add "',
    ],
    [
      { shape: ['{{event | default: "none}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'in the placeholder at character 1, a quoted text is not closed: add "',
    ],
    [{ shape: ['{{}}'] }, '/rules/shape/0', 'invalid_placeholder', 'a path begins with'],
    [{ shape: ['{{"a" "b"}}'] }, '/rules/shape/0', 'invalid_placeholder', '"a" "b" is not a JSON string'],
    [
      { shape: ['{{event | shout}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter shout is unknown: use one of default, json',
    ],
    [
      { shape: ['{{event | toString}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter toString is unknown',
    ],
    [{ shape: ['{{event | }}'] }, '/rules/shape/0', 'invalid_placeholder', 'the filter  is unknown'],
    [
      { shape: ['{{event | default}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter default needs a value or a path',
    ],
    [
      { shape: ['{{event | default: x}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'x is neither JSON nor a path',
    ],
    [
      { shape: ['{{event | default: properties.a[*]}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'properties.a[*]: the path of a default cannot contain [*]',
    ],
    [
      { shape: ['{{event | upper: 1}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter upper takes no argument',
    ],
    [
      { shape: ['{{event | truncate: "5"}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter truncate needs a number',
    ],
    [
      { shape: ['{{event | truncate: 0}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter truncate needs a number',
    ],
    [
      { shape: ['{{event | join}}'] },
      '/rules/shape/0',
      'invalid_placeholder',
      'the filter join needs a string',
    ],
    [
      { shape: [`{{event${' | upper'.repeat(6)}}}`] },
      '/rules/shape/0',
      'invalid_placeholder',
      'at most 5 filters',
    ],
    [
      { shape: list(MAX_DEPTH + 1) },
      `/rules/shape${'/0'.repeat(MAX_DEPTH)}`,
      'too_deep',
      'is nested deeper than 10 levels',
    ],
    [
      { shape: ['{{event}}'.repeat(MAX_PLACEHOLDERS + 1)] },
      '/rules/shape',
      'too_many',
      'has 201 placeholders',
    ],
    [{ shape: ['x'.repeat(70_000)] }, '/rules', 'too_large', 'the rules have 70,014 characters as JSON'],
  ])('%#', (rules, pointer, code, message) => {
    expect(faultsOf(rules)).toEqual([{ pointer, code, message: expect.stringContaining(message) }])
  })
})

test('all faults are reported at once', () => {
  const faults = faultsOf({
    filter: { all: [{ path: 'x', matches: '(' }, { not: {} }] },
    redact: [{ path: 'y', as: 'drop' }, ok && { path: 'type', as: 'hash' }],
    shape: { a: '{{z}}', b: '{{event | no}}' },
  })
  expect(faults.map(({ pointer }) => pointer)).toEqual([
    '/rules/filter/all/0/path',
    '/rules/filter/all/0/matches',
    '/rules/filter/all/1/not',
    '/rules/redact/0/path',
    '/rules/redact/1/path',
    '/rules/shape/a',
    '/rules/shape/b',
  ])
})

test('rules may reach each limit', () => {
  const filter = { any: Array(MAX_CONDITIONS).fill(ok) }
  const redact = Array(MAX_REDACTIONS).fill({ path: 'userId', as: 'drop' })
  const shape = { a: '{{event}}'.repeat(MAX_PLACEHOLDERS), b: list(MAX_DEPTH - 1) }
  expect(faultsOf({ filter, sample: { rate: 0 }, redact, shape })).toEqual([])
  expect(faultsOf({ filter: nested(MAX_DEPTH) })).toEqual([])
  expect(faultsOf({ filter: { path: 'event', in: Array(MAX_VALUES).fill('a') } })).toEqual([])
  expect(faultsOf({})).toEqual([])
})

const hostile = fc.oneof(
  fc.constantFrom(
    'event',
    'properties.a',
    'properties.a[*][*][*]',
    'properties["',
    '__proto__',
    'constructor.prototype',
    '(a+)+$',
    '(.{1000}){9}',
    '((a{100}){10}){10}',
    '[[:alpha:]',
    '\\Q',
    '\ud800',
    '{{',
    '{{event',
    '{{"}}',
    '{{event | default: "}}" | json | json | json | json}}',
    '{{properties | truncate: 99999}}',
    '{{properties.a[*] | join: "xxxxxxxxxx"}}',
    '{{'.repeat(500),
    `{{${'"'.repeat(501)}}}`,
    `{{event${'|'.repeat(500)}}}`,
    '['.repeat(900),
    `${'('.repeat(500)}${')'.repeat(500)}`,
  ),
  fc.string({ unit: codePoint }),
  fc.string({
    unit: fc.constantFrom('{', '}', '"', '|', ':', '[', ']', '(', ')', '*', '\\', 'a', '.', ' '),
    maxLength: 40,
  }),
)
const scalar = fc.oneof(hostile, fc.constantFrom(null, true, 0, -0, 1e308))
const condition = fc
  .tuple(
    hostile,
    fc.dictionary(fc.constantFrom(...OPERATORS), fc.oneof(scalar, fc.array(scalar)), { maxKeys: 2 }),
  )
  .map(([path, operators]) => ({ path, ...operators }))
const filters = fc.letrec<{ filter: unknown }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    condition,
    fc.record(
      {
        all: fc.array(tie('filter'), { maxLength: 3 }),
        any: fc.array(tie('filter'), { maxLength: 3 }),
        not: tie('filter'),
      },
      { requiredKeys: [] },
    ),
  ),
})).filter
const shapes = fc.letrec<{ shape: unknown }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    hostile,
    fc.array(tie('shape'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(hostile, fc.constant('__proto__')), tie('shape'), { maxKeys: 3 }),
  ),
})).shape
const redactions = fc.array(fc.record({ path: hostile, as: fc.constantFrom(...REDACTIONS) }))
const anyRules = fc.record(
  {
    filter: filters,
    sample: fc.record({ rate: fc.double({ min: 0, max: 1, noNaN: true }) }),
    redact: redactions,
    shape: shapes,
  },
  { requiredKeys: [] },
)

test('hostile rules are refused or run: nothing throws, and accepted rules compile', () => {
  const seen = { refused: 0, accepted: 0 }
  const event = anEvent({
    event: 'event',
    properties: JSON.stringify({ a: [[['"'.repeat(5_000), 'a'.repeat(5_000)]], 1, { a: null }] }),
    context: '{"ip":"203.0.113.9"}',
  })
  fc.assert(
    fc.property(anyRules, (given) => {
      const parsed = rulesShape.safeParse(given)
      if (!parsed.success) return
      const faults = rulesFaults(parsed.data, [])
      for (const fault of faults) expect(holdsPointer(given, fault.pointer), fault.pointer).toBe(true)
      const { run } = compileRules(parsed.data, Buffer.alloc(0), render)
      const result = run(event)
      expect(run(event)).toEqual(result)
      seen[faults.length === 0 ? 'accepted' : 'refused']++
      if (faults.length === 0) expect(result).not.toMatchObject({ code: 'invalid_rules' })
    }),
    { numRuns: 3_000 },
  )
  expect(seen.refused).toBeGreaterThan(500)
  expect(seen.accepted).toBeGreaterThan(50)
})

/** Whether a pointer leads to a value in the rules, or to a missing field of one. */
function holdsPointer(rules: unknown, pointer: string): boolean {
  const names = pointer.split('/').slice(1)
  let value = rules
  for (const name of names) {
    if (typeof value !== 'object' || value === null) return false
    value = (value as Record<string, unknown>)[name.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value !== undefined || names.length === 0
}

test('too many patterns are refused without compiling any, which would take seconds', () => {
  const before = patternCompilations()
  const all = Array.from({ length: 1_000 }, (_, nth) => ({ path: 'event', matches: `too many ${nth}` }))
  expect(faultsOf({ filter: { all } }).map(({ code }) => code)).toEqual(['too_many', 'too_many'])
  expect(patternCompilations()).toBe(before)
})
