import { expect, test } from 'vitest'
import { conditionWords, decidingWords } from '../../console/src/wording/conditions.ts'

test.each([
  [{ path: 'event', eq: 'Paid' }, 'event is “Paid”'],
  [{ path: 'event', in: ['Paid', 'Refunded'] }, 'event is one of “Paid”, “Refunded”'],
  [{ path: 'event', in: ['Paid'] }, 'event is “Paid”'],
  [{ path: 'event', nin: ['Paid'] }, 'event is not “Paid”'],
  [{ path: 'userId', exists: false }, 'userId is missing'],
  [{ path: 'properties["a b"]', exists: true }, 'properties["a b"] exists'],
  [{ path: 'properties.total', gte: 10, lt: 20.5 }, 'properties.total is at least 10 and is less than 20.5'],
  [{ path: 'traits.vip', ne: true }, 'traits.vip is not true'],
  [{ path: 'context.ip', startsWith: '10.' }, 'context.ip starts with “10.”'],
  [{ not: { path: 'event', contains: 'test' } }, 'not (event contains “test”)'],
])('%j reads: %s', (condition, words) => {
  expect(conditionWords(condition)).toBe(words)
})

const PAID = { path: 'event', eq: 'Paid' }
const LARGE = { path: 'properties.total', gt: 10 }

test('groups inside groups have parentheses', () => {
  expect(conditionWords({ all: [PAID, { any: [LARGE, PAID] }] })).toBe(
    'event is “Paid” and (properties.total is greater than 10 or event is “Paid”)',
  )
  expect(conditionWords({ all: [{ any: [PAID] }, LARGE] })).toBe(
    'event is “Paid” and properties.total is greater than 10',
  )
})

test('long texts and lists are shortened', () => {
  expect(conditionWords({ path: 'event', in: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] })).toBe(
    'event is one of “a”, “b”, “c”, “d”, “e” and 2 more',
  )
  expect(conditionWords({ path: 'event', eq: 'x'.repeat(100) })).toBe(`event is “${'x'.repeat(80)}…”`)
})

test('a condition from a newer control appears as JSON', () => {
  expect(conditionWords({ path: 'event', soundsLike: 'Paid' })).toBe('{"path":"event","soundsLike":"Paid"}')
  expect(conditionWords(null)).toBe('null')
})

test('says whether the deciding condition was not met or excludes the event', () => {
  const rules = { filter: { all: [PAID, { not: { any: [LARGE] } }, { any: [PAID, LARGE] }] } }
  expect(decidingWords(rules, '/filter/all/0')).toBe('It does not meet: event is “Paid”')
  expect(decidingWords(rules, '/filter/all/1/not')).toBe(
    'It is excluded by: properties.total is greater than 10',
  )
  expect(decidingWords(rules, '/filter/all/2/any')).toBe(
    'It does not meet: event is “Paid” or properties.total is greater than 10',
  )
  expect(decidingWords({ filter: { not: { not: PAID } } }, '/filter/not/not')).toBe(
    'It does not meet: event is “Paid”',
  )
  expect(decidingWords(rules, '/filter/all/3')).toBeUndefined()
  expect(decidingWords(undefined, '/filter')).toBeUndefined()
})
