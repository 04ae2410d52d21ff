import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CODES } from '../../../clients/node/errors.ts'
import { LIBRARY } from '../../../clients/node/library.ts'
import { MIN_NODE } from '../../../clients/node/node-version.ts'
import { OPTIONS, readSettings } from '../../../clients/node/settings.ts'

const read = (name: string) => readFileSync(new URL(`../../../clients/node/${name}`, import.meta.url), 'utf8')
const readme = read('README.md')

function namesIn(section: string): string[] {
  const [, rest = ''] = readme.split(`## ${section}\n`)
  const [text = ''] = rest.split('\n## ')
  const cells = text.split('\n').flatMap((line) => /^\| (.*?) \|/.exec(line)?.[1] ?? [])
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
}

test('the first example equals the file in examples', () => {
  const [, code] = /## The first call\n[\s\S]*?```js\n([\s\S]*?)```/.exec(readme) ?? []
  expect(code).toBe(read('examples/first-call.mjs'))
})

test('all options are listed with their defaults', () => {
  expect(namesIn('Options').sort()).toEqual([...OPTIONS].sort())
  for (const [name, value] of Object.entries(readSettings({ writeKey: 'k' }))) {
    if (typeof value !== 'number' && name !== 'endpoint') continue
    const row = readme.split('\n').find((line) => line.startsWith(`| \`${name}\``))
    expect(row).toContain(typeof value === 'number' ? value.toLocaleString('en') : value)
  }
})

test('all error codes are listed', () => {
  expect(namesIn('Errors').sort()).toEqual([...CODES].sort())
})

test('the library has the version of its package, and takes the got that the project is tested with', () => {
  const { version, dependencies, engines } = JSON.parse(read('package.json'))
  expect(LIBRARY).toEqual({ name: 'sluice-node', version })
  expect(readme).toContain(`sluice-analytics-${version}.tgz`)
  const root = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(dependencies).toEqual({ got: `^${root.dependencies.got}` })
  expect(engines).toEqual({ node: `>=${MIN_NODE}` })
  expect(readme).toContain(`needs Node ${MIN_NODE} or later`)
})
