import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

type Package = { version?: string; optional?: true; engines?: { node?: string } }

const read = async (path: string): Promise<Package> => JSON.parse(await readFile(path, 'utf8'))
const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
  packages: Record<string, Package>
}
const installed = Object.entries(packages).filter(([path, { optional }]) => path !== '' && !optional)

/** npm never installs an optional package that does not fit, and says nothing about it. */
const refused = (range: string | undefined, version: string) =>
  range !== undefined && !accepts(range, version)

// npm compares engines with the Node that runs npm. Packages run on the Node among them (`node_modules/node`), so for npm
// on an older Node it would warn about packages that work, five lines each. The lock file therefore has no `engines` for
// them, and npm does not put them back. If this test names a package, delete its `engines` from package-lock.json.
test.each(['20.19.0', '22.12.0'])('npm ci on Node %s warns about no package', (version) => {
  const warned = installed.filter(([, { engines }]) => refused(engines?.node, version))
  expect(warned.map(([path, { engines }]) => `${path}: ${engines?.node}`)).toEqual([])
})

test('every package supports the Node that runs it', async () => {
  const version = packages['node_modules/node']?.version ?? ''
  const asked = await Promise.all(
    installed
      .map(([path]) => `${path}/package.json`)
      .filter(existsSync)
      .map(async (path) => ({ path, range: (await read(path)).engines?.node })),
  )
  expect(asked.filter(({ range }) => range !== undefined).length).toBeGreaterThan(100)
  expect(asked.filter(({ range }) => refused(range, version))).toEqual([])
})

test.each([
  ['>=20', true],
  ['>= 20.19', true],
  ['>=20.20', false],
  ['^20.19.0 || >=22.12.0', true],
  ['^18 || >=22', false],
  ['^18.0.0||^19', false],
  ['18 || 20', true],
  ['20.18.x', false],
  ['6.* || 20.*', true],
  ['20 >=20.20', false],
  ['*', true],
])('%s accepts Node 20.19.1: %s', (range, wanted) => {
  expect(accepts(range, '20.19.1')).toBe(wanted)
})

const COMPARATOR = /(>=|\^|)\s*(\*|[\dx]+(?:\.[\dx*]+)*)/g

/** The ranges that packages use, without npm's own parser. */
function accepts(range: string, version: string): boolean {
  const unknown = range.replaceAll(COMPARATOR, '').replaceAll(/\|\||\s/g, '')
  expect(unknown, `${range} has a part that this test does not know`).toBe('')
  const numbers = version.split('.').map(Number)
  return range
    .split('||')
    .some((all) =>
      [...all.matchAll(COMPARATOR)].every(([, sign = '', from = '']) => fits(numbers, sign, from)),
    )
}

function fits(version: readonly number[], sign: string, from: string): boolean {
  const parts = from.split('.').flatMap((part) => (/^\d+$/.test(part) ? Number(part) : []))
  const differs = parts.findIndex((part, index) => part !== version[index])
  if (differs === -1) return true
  const isAbove = (version[differs] ?? 0) > (parts[differs] ?? 0)
  return isAbove && (sign === '>=' || (sign === '^' && differs > 0))
}
