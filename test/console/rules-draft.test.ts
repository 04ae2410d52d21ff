import fc from 'fast-check'
import { expect, test } from 'vitest'
import { valueAt } from '../../console/src/api/client/errors.ts'
import {
  conditionPointer,
  draftFaults,
  newRedaction,
  redactionPointer,
  toDraft,
  toRules,
} from '../../console/src/views/rules/draft.ts'
import { type ConditionDraft, newCondition, withOperator } from '../../console/src/views/rules/filter.ts'
import { toLines, toOperand, toOperands, toText, typeHint } from '../../console/src/views/rules/operand.ts'
import { codePoint } from '../helpers/code-point.ts'

const draftOf = (rules: unknown) => {
  const draft = toDraft(rules)
  if (!draft) throw new Error('expected a draft')
  return draft
}
const condition = (fields: Partial<ConditionDraft>): ConditionDraft => ({ ...newCondition(), ...fields })

const NAMES = { path: 'event', in: ['Order Paid', 'Order Refunded'] }
const TYPES = { path: 'type', in: ['track'] }
const TOTAL = { path: 'properties.total', gte: 10 }
const COUNTRY = { path: 'context.location.country', nin: ['US', 'CA', 1, null] }

const operand = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
)

test('each value becomes text and back', () => {
  fc.assert(
    fc.property(fc.array(operand), (operands) => {
      const jsonOf = JSON.stringify(operands)
      expect(JSON.stringify(operands.map((each) => toOperand(toText(each))))).toBe(jsonOf)
      expect(JSON.stringify(toOperands(toLines(operands)))).toBe(jsonOf)
      expect(operands.map(toText).filter((text) => text.includes('\n'))).toEqual([])
    }),
  )
})

test('a typed value is a number, true, false or null if it looks like one, and otherwise a string', () => {
  expect(['10', ' 1.5 ', 'true', 'null', '"10"', 'DE', '{"a":1}', ''].map(toOperand)).toEqual([
    ...[10, 1.5, true, null, '10', 'DE', '{"a":1}', ''],
  ])
  expect(typeHint('10')).toBe('Compares as a number. For a string, write "10" with quotes.')
  expect(typeHint('DE')).toBeUndefined()
  expect(typeHint('DE\n\n 10 \n11')).toBe('Compares 10 as a number. For a string, write "10" with quotes.')
  expect(typeHint('DE\n"10"')).toBeUndefined()
})

test('an operator for one value keeps only the first value of a list', () => {
  const list = condition({ path: 'userId', operator: 'in', value: '\n u1\nu2' })
  expect(withOperator(list, 'nin').value).toBe(list.value)
  expect(withOperator(list, 'exists').value).toBe(list.value)
  expect(withOperator(list, 'eq')).toEqual({ ...list, operator: 'eq', value: ' u1' })
  expect(withOperator({ ...list, value: 'u 1' }, 'contains').value).toBe('u 1')
})

test.each([
  {},
  { filter: NAMES },
  { filter: TOTAL },
  { filter: { all: [NAMES, TYPES, TOTAL, COUNTRY] } },
  { filter: { any: [TOTAL, COUNTRY] } },
  { filter: { all: [NAMES, { any: [TOTAL, COUNTRY] }] } },
  {
    filter: {
      all: [
        { path: 'userId', exists: true },
        { path: 'groupId', exists: false },
      ],
    },
  },
  {
    filter: {
      all: [
        { path: 'properties.zip', eq: '10' },
        { path: 'event', startsWith: '10' },
      ],
    },
  },
  { filter: { not: { any: [TOTAL, { all: [COUNTRY] }] } } },
  { filter: { all: [{ path: 'properties.total', gte: 10, lt: 20 }] } },
  { sample: { rate: 0.07, by: 'user' } },
  { sample: { rate: 0.0000001, by: 'event' } },
  {
    redact: [
      { path: 'context.ip', as: 'drop' },
      { path: 'traits.email', as: 'hash' },
    ],
  },
  { shape: { text: 'New order {{properties.total}}', items: ['{{properties.products}}'] } },
  { filter: NAMES, sample: { rate: 1, by: 'event' }, redact: [{ path: 'userId', as: 'mask' }], shape: {} },
])('the form keeps %j', (rules) => {
  expect(toRules(draftOf(rules)) ?? {}).toEqual(rules)
})

test('the form collects event names and types, and never writes a group of one', () => {
  const draft = draftOf({ filter: { all: [TOTAL, NAMES] } })
  expect(draft.filter.eventNames).toEqual(NAMES.in)
  expect(toRules(draft)).toEqual({ filter: { all: [NAMES, TOTAL] } })
  expect(toRules(draftOf({ filter: { all: [TOTAL] } }))).toEqual({ filter: TOTAL })
  expect(toRules(draftOf({ filter: { any: [NAMES] } }))).toEqual({ filter: NAMES })
})

test.each([
  { filters: NAMES },
  { sample: { rate: '0.1', by: 'user' } },
  { sample: { rate: 0.1, by: 'session' } },
  { redact: [{ path: 'a', as: 'shred' }] },
  { redact: [{ path: 'a', as: 'hash', to: 8 }] },
  { redact: { path: 'a', as: 'hash' } },
])('the form does not show %j, which it cannot keep', (rules) => {
  expect(toDraft(rules)).toBeUndefined()
})

const path = fc.constantFrom('event', 'type', 'properties.total', 'properties["a b"]')
const leaf = fc.oneof(
  fc.record({ path, in: fc.array(operand) }),
  fc.record({ path, eq: operand }),
  fc.record({ path, exists: fc.boolean() }),
  fc.record({ path, contains: fc.string() }),
  fc.record({ path, eq: fc.array(fc.integer()) }),
)
const { filter } = fc.letrec<{ filter: unknown }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.record({ all: fc.array(tie('filter'), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('filter'), { maxLength: 3 }) }),
    fc.record({ not: tie('filter') }),
  ),
}))

/** Sorted, and without groups of one. */
function normal(value: unknown): unknown {
  const { all, any, not, ...rest } = Object(value)
  for (const [name, members] of Object.entries({ all, any }))
    if (Array.isArray(members)) {
      const sorted = members.map(normal).map((each) => JSON.stringify(each))
      return sorted.length === 1 ? JSON.parse(sorted[0] ?? '') : { [name]: sorted.toSorted() }
    }
  return not === undefined ? rest : { not: normal(not) }
}

test('the form may change the order in a filter, never its meaning', () => {
  fc.assert(
    fc.property(filter, (filter) => {
      const kept = toRules(draftOf({ filter }))?.filter
      expect(JSON.stringify(normal(kept))).toBe(JSON.stringify(normal(filter)))
    }),
  )
})

test('each field shows the faults at the pointer of its condition', () => {
  const started = draftOf({ filter: { all: [NAMES, TYPES] } })
  const conditions = [
    condition({ path: '' }),
    condition({ path: 'userId', operator: 'exists' }),
    condition({ path: 'groupId', operator: 'missing' }),
  ]
  for (const match of ['all', 'any'] as const)
    for (const fixed of [started.filter, draftOf({ filter: TYPES }).filter, draftOf({}).filter])
      for (const shown of [conditions, conditions.slice(0, 2)]) {
        const draft = { ...started, filter: { ...fixed, match, conditions: shown } }
        const sent = { rules: toRules(draft) }
        const found = (['eventNames', 'types', ...shown.map(({ key }) => key)] as const).map((origin) =>
          valueAt(sent, conditionPointer(draft, origin)),
        )
        const expected = [
          ...(fixed.eventNames.length > 0 ? [NAMES] : [undefined]),
          ...(fixed.types.length > 0 ? [TYPES] : [undefined]),
          ...[undefined, { path: 'userId', exists: true }, { path: 'groupId', exists: false }],
        ]
        expect(found).toEqual(expected.slice(0, found.length))
      }
})

test('incomplete rows are left out and reported', () => {
  const [empty, ip] = [newRedaction(), { ...newRedaction(), path: 'context.ip' }]
  const rows = [
    condition({ path: ' ', value: '1' }),
    condition({ path: 'event', operator: 'in', value: '\n' }),
  ]
  const start = draftOf({})
  const draft = { ...start, filter: { ...start.filter, conditions: rows }, redact: [empty, ip] }
  expect(toRules(draft)).toEqual({ redact: [{ path: 'context.ip', as: 'drop' }] })
  expect(redactionPointer(draft, ip.key)).toBe('/rules/redact/0')
  expect(draftFaults(draft)).toMatchObject([
    { pointer: `${conditionPointer(draft, rows[0]?.key ?? 0)}/path`, code: 'required' },
    { pointer: `${conditionPointer(draft, rows[1]?.key ?? 0)}/value`, code: 'required' },
    { pointer: `${redactionPointer(draft, empty.key)}/path`, code: 'required' },
  ])
})

test('a share that is not a number and a body that is not JSON are faults', () => {
  const draft = { ...draftOf({}), sample: { percent: 'ten', by: 'user' as const }, body: '{' }
  expect(draftFaults(draft).map(({ pointer }) => pointer)).toEqual(['/rules/sample/rate', '/rules/shape'])
  expect(draftFaults({ ...draft, sample: { percent: '', by: 'user' }, body: '"ok"' })).toHaveLength(1)
  expect(draftFaults({ ...draft, sample: { percent: ' 0.5 ', by: 'user' }, body: '{}' })).toEqual([])
})
