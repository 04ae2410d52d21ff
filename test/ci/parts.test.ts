import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CORE_FLOWS, otherPart, SLOW } from '../setup/parts.ts'

test('what the core tests and the slow tests name exists', () => {
  expect([...CORE_FLOWS, ...SLOW].filter((path) => !existsSync(path))).toEqual([])
})

test('each part leaves out the files of the other, and without a part none is left out', () => {
  const [slow, core] = [otherPart({ TESTS: 'core' }), otherPart({ TESTS: 'slow' })]
  expect(slow).toContain('test/flow/cluster.test.ts')
  expect(core).toContain('test/flow/shared.test.ts')
  expect(slow.filter((file) => core.includes(file))).toEqual([])
  expect(otherPart({})).toEqual([])
})

test('another part is refused', () => {
  expect(() => otherPart({ TESTS: 'fast' })).toThrow('TESTS must be core or slow, but is fast')
})
