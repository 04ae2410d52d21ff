import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memberOf, merge, printMerged } from '../../../ingest/call/merged.ts'

/** `__proto__` is a member like any other. */
const members = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom('a', 'ip', '1', '10', '9', '4294967295', '01', '__proto__', 'é"'),
        fc.string(),
      ),
      fc.jsonValue(),
    ),
  )
  .map((entries): Record<string, unknown> => JSON.parse(JSON.stringify(Object.fromEntries(entries))))
const layer = fc.option(members, { nil: null })

describe('a merged object', () => {
  test('prints what a copy with both members would, and has its members', () => {
    fc.assert(
      fc.property(layer, layer, (shared, own) => {
        const merged = merge(shared, own)
        if (!merged) throw new Error('refused')
        const copy = shared || own ? { ...shared, ...own } : null
        expect(printMerged(merged)).toBe(copy && JSON.stringify(copy))
        for (const name of ['a', 'ip', '1']) expect(memberOf(merged, name)).toEqual(copy?.[name])
      }),
    )
  })

  test('leaves out what the call takes away', () => {
    expect(printMerged({ shared: { a: 1, ip: 'b' }, own: { ip: undefined } })).toBe('{"a":1}')
  })

  test.each<[unknown, unknown, boolean]>([
    [null, null, true],
    [{}, null, true],
    [null, {}, true],
    ['x', {}, true],
    ['x', null, false],
    [{}, 'x', false],
    [{}, [], false],
    [[], null, false],
  ])('of %j under %j is possible: %j', (shared, own, isPossible) => {
    expect(merge(shared, own) !== undefined).toBe(isPossible)
  })
})
