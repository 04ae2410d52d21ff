import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findEarlier, newestRelease, samePackages } from '../../../torture/upgrade/earlier.ts'

test('the newest release is the highest version, not a release candidate and not of the Go module', () => {
  const tags = ['v1.9.0', 'v1.10.0', 'v2.0.0-rc.1', 'clients/go/v3.0.0', 'v0.9.0', 'vacation']
  expect(newestRelease(tags)).toBe('v1.10.0')
  expect(newestRelease(['v2.0.0-rc.1', ''])).toBeUndefined()
})

test('packages are the same whatever the version of Sluice', () => {
  const lock = (version: string, got: string) =>
    JSON.stringify({ version, packages: { '': { version }, 'node_modules/got': { version: got } } })
  expect(samePackages(lock('1.0.0', '14.0.0'), lock('1.1.0', '14.0.0'))).toBe(true)
  expect(samePackages(lock('1.0.0', '14.0.0'), lock('1.0.0', '14.0.1'))).toBe(false)
})

function folderWith(...paths: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), '')
  }
  return folder
}

const PROGRAM = 'deliverer/main.ts'
const PACKAGES = 'node_modules/got/package.json'
const SIGNED = 'docs/decisions/025-signed-settings.md'

test('a folder with a checkout and its packages can be the earlier version', () => {
  const folder = folderWith(PROGRAM, PACKAGES, SIGNED)
  expect(findEarlier(folder)).toEqual({ name: folder, folder })
})

test.each([
  ['no checkout', [PACKAGES], 'is not a checkout of Sluice'],
  ['no packages', [PROGRAM, SIGNED], 'has no packages: run npm ci there'],
  ['a version from before signed settings', [PROGRAM, PACKAGES], 'does not sign settings'],
])('a folder with %s is refused', (_, paths, message) => {
  expect(() => findEarlier(folderWith(...paths))).toThrow(message)
})

test('what git does not know is refused', () => {
  expect(() => findEarlier('no-such-commit')).toThrow(
    "takes a commit, a tag or a folder, and not 'no-such-commit'",
  )
})
