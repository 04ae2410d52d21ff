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
