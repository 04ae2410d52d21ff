import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

// npm's own; it has no types
const { satisfies }: { satisfies(version: string, range: string): boolean } = createRequire(import.meta.url)(
  'semver',
)

type Package = { version?: string; optional?: true; engines?: { node?: string } }

const read = async (path: string): Promise<Package> => JSON.parse(await readFile(path, 'utf8'))
const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
  packages: Record<string, Package>
}
const installed = Object.entries(packages).filter(([path, { optional }]) => path !== '' && !optional)

/** npm skips an optional package that does not fit, without a word. */
const refused = (range: string | undefined, version: string) =>
  range !== undefined && !satisfies(version, range)

// npm compares engines with the Node that runs npm, but packages run on the Node among them (`node_modules/node`). The
// lock file therefore has no `engines` for packages that fit only the latter: npm would warn about them in vain. If
// this test names a package, delete its `engines` from package-lock.json; npm does not put them back.
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
