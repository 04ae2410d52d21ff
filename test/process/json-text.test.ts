import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addMember, cutMember, memberNames } from '../../process/json-text.ts'
import { parseJson } from '../../process/parse-json.ts'

const NAMES = ['it', 'a', '1', 'it"', '\\', '"it":', '[', '}', 'é', '\ud800', '__proto__'] as const

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...NAMES, '"it":1', '\\"', 9e-265, true, null),
    fc.array(tie('tree')),
    fc.dictionary(fc.constantFrom(...NAMES), tie('tree')),
  ),
}))
const objects = fc.dictionary(fc.constantFrom(...NAMES), tree).map((value) => JSON.stringify(value))

const parsed = (json: string) => parseJson(json) as Record<string, unknown>

test('a member is cut from a text as from the parsed object, only at the first level', () => {
  fc.assert(
    fc.property(objects, (json) => {
      const { it: _, ...rest } = parsed(json)
      expect(cutMember(json, 'it')).toBe(JSON.stringify(rest))
    }),
    { numRuns: 500 },
  )
})

test('the names at the first level are those of the parsed object, as spelled', () => {
  fc.assert(
    fc.property(objects, (json) => {
      const names = Object.keys(parsed(json)).map((name) => JSON.stringify(name).slice(1, -1))
      expect(memberNames(json)).toEqual(names)
    }),
    { numRuns: 500 },
  )
  for (const broken of ['', '{', '{"', '{"a', '{"a":"', '[]', '7'])
    expect(() => memberNames(broken)).not.toThrow()
})

test('a member is added to a text as to the parsed object, unless it has one', () => {
  fc.assert(
    fc.property(objects, (json) => {
      const value = parsed(json)
      expect(addMember(json, 'it', '"new"')).toBe(
        JSON.stringify({ ...value, it: Object.hasOwn(value, 'it') ? value.it : 'new' }),
      )
    }),
    { numRuns: 500 },
  )
})

describe('a text that is not an object', () => {
  test.each(['[]', '["a",{"it":1}]', 'null', '"it"', ''])('stays the same: %s', (text) => {
    expect(cutMember(text, 'it')).toBe(text)
    expect(addMember(text, 'it', '1')).toBe(text)
  })

  test.each([
    '',
    '{',
    '"it":',
    '{"it":',
    '{"it":1',
    '{"it',
    '{"a":"it":',
    '["it":1]',
    '{"a":[{"it":1',
    '{"it":1,"b',
    '{"b":{},"it":"',
  ])('a text that is not JSON does not keep it busy: %s', (text) =>
    expect(cutMember(text, 'it').length).toBeLessThanOrEqual(text.length),
  )
})
