import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { nearest } from '../../process/nearest.ts'
import { destinationShape } from '../../settings/settings.ts'
import { fieldsAt, unknownField } from '../../settings/unknown-field.ts'

test.each([
  ['filters', ['filter', 'sample'], 'unknown field: did you mean filter? use one of filter, sample'],
  ['Filter', ['filter', 'sample'], 'unknown field: did you mean filter? use one of filter, sample'],
  ['transform', ['filter', 'sample'], 'unknown field: use one of filter, sample'],
  ['pathh', ['path'], 'unknown field: did you mean path? use path'],
  ['x', [], 'unknown field: leave it out'],
])('%s instead of one of %j is: %s', (name, allowed, message) => {
  expect(unknownField(name, allowed)).toBe(message)
})

test.each([
  ['startWith', 'startsWith'],
  ['startswith', 'startsWith'],
  ['equal', undefined],
  ['if', undefined],
  ['match', 'matches'],
  ['gtt', undefined],
])('%s is nearest to %s', (name, found) => {
  expect(nearest(name, ['startsWith', 'endsWith', 'in', 'gt', 'eq', 'matches'])).toBe(found)
})

test.each<[string, PropertyKey[], string[]]>([
  ['the rules', ['rules'], ['filter', 'sample', 'redact', 'shape']],
  ['an entry of redact', ['rules', 'redact', 3], ['path', 'as']],
  ['a webhook', ['webhooks', 0], expect.arrayContaining(['url', 'headers'])],
  [
    'a filter in a filter',
    ['rules', 'filter', 'all', 0, 'not'],
    expect.arrayContaining(['all', 'path', 'eq']),
  ],
  ['a place that does not exist', ['rules', 'shapes', 1], []],
  ['a text', ['name'], []],
])('the schema lists the fields of %s', (_what, path, fields) => {
  expect(fieldsAt(destinationShape, path)).toEqual(fields)
})

test('a schema without a list of fields lists none', () => {
  expect(fieldsAt(z.record(z.string(), z.string()), [])).toEqual([])
  expect(fieldsAt(z.unknown(), ['a', 0])).toEqual([])
})

test('every name is nearest to itself, whatever its case', () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{2,12}$/), { minLength: 1, maxLength: 10 })
  fc.assert(
    fc.property(names, (all) => {
      for (const name of all) expect(nearest(name.toUpperCase(), all)).toBe(name)
    }),
  )
})
