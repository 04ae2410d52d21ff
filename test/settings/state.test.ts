import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sealRecord } from '../../settings/seal.ts'
import { KINDS, type Kind } from '../../settings/settings.ts'
import { createState, kindFilter } from '../../settings/state.ts'
import { keysOf } from '../helpers/config-keys.ts'

const keys = keysOf(Buffer.alloc(32, 1))
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
const records: Partial<Record<Kind, object>> = {
  source: { id: 'a', name: 'A', enabled: true, writeKey: 'a-write-key', ...stamp },
  suppression: { id: 'a', sourceId: '*', userId: 'ann', ...stamp },
}

test('unreadable settings are counted by kind, whatever is written, and whatever is supposed', () => {
  const change = fc.record({
    kind: fc.constantFrom<Kind>('source', 'suppression'),
    id: fc.constantFrom('a', 'b'),
    as: fc.constantFrom('readable', 'unreadable', 'removed'),
    isSupposed: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const state = createState({ keys, kinds: KINDS, log: log as never })
      for (const { kind, id, as, isSupposed } of changes) {
        const key = `${kind}/${id}`
        const sealed = () => sealRecord(key, { ...records[kind], id }, keys)
        const value = { readable: sealed, unreadable: () => '{', removed: () => undefined }[as]()
        const write = () => state.apply(key, value === undefined ? undefined : Buffer.from(value))
        if (isSupposed) state.supposing(write)
        else write()
      }
      for (const kind of KINDS) {
        const all = [...state.unreadable.values()].filter((each) => each.kind === kind)
        expect(state.countUnreadable(kind)).toBe(all.length)
      }
    }),
  )
})

const at = (version: number) => Buffer.from(sealRecord('source/a', { ...records.source, version }, keys))

test('the version of a removed setting is remembered, unless its removal was only supposed', () => {
  const { apply, removed, lastVersion, supposing } = createState({ keys, kinds: KINDS, log: log as never })
  const remove = (last: Buffer) => {
    removed('source/a', last)
    apply('source/a', undefined)
  }
  // before the settings are loaded, none is applied
  removed('source/a', at(4))
  expect(lastVersion('source/a')).toBe(4)
  apply('source/a', at(5))
  remove(at(5))
  expect(lastVersion('source/a')).toBe(5)
  supposing(() => {
    apply('source/a', at(6))
    remove(at(6))
    // a later decision of the same batch
    expect(lastVersion('source/a')).toBe(6)
  })
  expect([lastVersion('source/a'), lastVersion('source/b')]).toEqual([5, undefined])
})

test('of a removed setting that cannot be read, the last good version is remembered', () => {
  const { apply, removed, lastVersion } = createState({ keys, kinds: KINDS, log: log as never })
  removed('source/a', Buffer.from('{'))
  expect(lastVersion('source/a')).toBeUndefined()
  apply('source/a', at(2))
  apply('source/a', Buffer.from('{'))
  removed('source/a', Buffer.from('{'))
  expect(lastVersion('source/a')).toBe(2)
})

test('the versions of the last 10,000 removed settings are remembered, and none of suppressions', () => {
  const { removed, lastVersion } = createState({ keys, kinds: KINDS, log: log as never })
  const remove = (key: string, record: object) => removed(key, Buffer.from(sealRecord(key, record, keys)))
  const removeSource = (each: number) => remove(`source/s${each}`, { ...records.source, id: `s${each}` })
  for (let each = 0; each <= 10_000; each++) removeSource(each)
  const ofSources = (...numbers: number[]) => numbers.map((each) => lastVersion(`source/s${each}`))
  expect(ofSources(0, 1, 10_000)).toEqual([undefined, 1, 1])
  // removed again, so it is not the oldest
  removeSource(1)
  removeSource(10_001)
  expect(ofSources(1, 2, 3)).toEqual([1, undefined, 1])
  remove('suppression/a', { ...records.suppression })
  expect(lastVersion('suppression/a')).toBeUndefined()
})

test('keys of more than 200 characters are ignored, with one line in the log', () => {
  const lines: string[] = []
  const warn = (fields: object) => void lines.push(JSON.stringify(fields))
  const matches = kindFilter(KINDS, { ...log, warn } as never)
  const long = '\x01'.repeat(900_000)
  for (const key of [`destination/${long}`, `suppression/${long}`, `${long}/crm`, long])
    expect(matches(key)).toBe(false)
  expect(lines).toHaveLength(1)
  expect(lines.join('').length).toBeLessThan(2_000)
  expect(matches(`suppression/${'s'.repeat(64)}`)).toBe(true)
})
