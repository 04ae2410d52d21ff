import { existsSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CORE_FLOWS, otherPart, SLOW } from './parts.ts'

test('every file and folder that the parts name exists', () => {
  expect([...CORE_FLOWS, ...SLOW].filter((path) => !existsSync(path))).toEqual([])
})

test('every file is in one part, and a run without a part leaves none out', () => {
  const [slow, core] = [otherPart({ TESTS: 'core' }), otherPart({ TESTS: 'slow' })]
  expect(slow).toContain('test/flow/cluster.test.ts')
  expect(core).toContain('test/flow/shared.test.ts')
  expect([...slow, ...core].toSorted()).toEqual(globSync('test/**/*.test.ts').toSorted())
  expect(otherPart({})).toEqual([])
})

test('an unknown part is refused', () => {
  expect(() => otherPart({ TESTS: 'fast' })).toThrow('TESTS must be core or slow, but is fast')
})
