import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hasJava, needingJava } from '../setup/needs-java.ts'

test('without Java, tests that start their own brokers are listed, and the others run', () => {
  const files = needingJava()
  expect(files).toEqual(expect.arrayContaining(['test/flow/cluster.test.ts', 'test/flow/outage.test.ts']))
  expect(files).not.toContain('test/flow/settings.test.ts')
  expect(files.filter((file) => !existsSync(file))).toEqual([])
})

test('Java is found in JAVA_HOME or else in PATH', () => {
  expect(hasJava({ PATH: '/nowhere:/none' })).toBe(false)
  expect(hasJava({ JAVA_HOME: '/nowhere', PATH: '/usr/bin' })).toBe(false)
  expect(hasJava({})).toBe(false)
})
