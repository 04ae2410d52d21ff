import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isIndex, objectOf, withMember, withoutMember } from '../../process/json-objects.ts'
import { parseJson } from '../../process/parse-json.ts'
import { collectGarbage } from '../helpers/garbage.ts'

const names = fc.oneof(
  fc.constantFrom('', 'a', 'b', '__proto__', '0', '1', '1023', '01', '-1', '1.5', '4294967294', '4294967295'),
  fc.nat(5_000).map(String),
)
const members = fc.array(fc.tuple(names, fc.nat(9)), { maxLength: 8 })
const printed = (value: object) => JSON.stringify(value)

test('an index is what objects list first', () => {
  fc.assert(
    fc.property(names, (name) => {
      const [first] = Object.keys(Object.fromEntries(['~', name].map((each) => [each, 0])))
      expect(isIndex(name)).toBe(first === name)
    }),
  )
})

test('copies have the members that JavaScript would give them, in the same order', () => {
  fc.assert(
    fc.property(members, names, (entries, name) => {
      const given = Object.fromEntries(entries)
      const before = printed(given)
      const { [name]: _, ...rest } = given
      expect(printed(objectOf(entries))).toBe(before)
      expect(printed(withMember(given, name, 10))).toBe(printed({ ...given, [name]: 10 }))
      expect(printed(withoutMember(given, name))).toBe(printed(rest))
      expect(Object.getPrototypeOf(objectOf(entries))).toBe(Object.prototype)
      expect(printed(given)).toBe(before)
    }),
    { numRuns: 2_000 },
  )
})

describe('copies of objects with index names take about as much memory as the parsed ones', () => {
  const COUNT = 5_000
  type Parsed = Record<string, unknown>
  const parsed = (object: string) => JSON.parse(`[${Array(COUNT).fill(object).join()}]`) as Parsed[]
  const indexes = '"1023":0,"2573":0,"3322":0'

  /** In bytes per object. */
  function taken(make: () => unknown[]): number {
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const made = make()
    collectGarbage()
    const after = process.memoryUsage().heapUsed
    expect(made).toHaveLength(COUNT)
    return (after - before) / COUNT
  }

  test.each<[string, (object: Parsed) => unknown]>([
    ['all members', (object) => objectOf(Object.entries(object))],
    ['with another member', (object) => withMember(object, 'b', 1)],
    ['with another value', (object) => withMember(object, '1023', 1)],
    ['without a member', (object) => withoutMember(object, 'a')],
    ['without an index', (object) => withoutMember(object, '3322')],
  ])('%s', (_, copy) => {
    const given = parsed(`{${indexes},"a":1}`)
    expect(taken(() => given.map(copy))).toBeLessThan(1_000)
    expect(given).toHaveLength(COUNT)
  })

  test('renamed because of an escape', () => {
    const text = `[${Array(COUNT).fill(`{"\\n":0,${indexes}}`).join()}]`
    expect(taken(() => parseJson(text) as unknown[])).toBeLessThan(1_000)
  })
})

describe('copies with many members are hash tables, for which V8 makes no hidden classes', () => {
  setFlagsFromString('--allow-natives-syntax')
  const isHashTable: (object: object) => boolean = runInNewContext('(object) => !%HasFastProperties(object)')
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`name ${at}`, at]))
  const { 'name 0': _, ...fewer } = many

  test.each<[string, object]>([
    ['all members', objectOf(Object.entries(many))],
    ['with another member', withMember(many, 'b', 1)],
    ['without a member', withoutMember(many, 'name 0')],
    ['renamed because of an escape', parseJson(JSON.stringify({ ...many, '\n': 0 })) as object],
  ])('%s', (__, copy) => {
    expect(isHashTable(copy)).toBe(true)
    expect(copy).toMatchObject(fewer)
  })

  test('but not those with a few', () => {
    expect(isHashTable(withMember({ a: 1 }, 'b', 1))).toBe(false)
  })
})
