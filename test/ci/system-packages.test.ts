import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
mkdirSync(join(folder, '.ci'))
cpSync('.ci/packages.sh', join(folder, '.ci/packages.sh'))
afterAll(() => rmSync(folder, { recursive: true }))

function packages(list: string, which: 'missing' | 'all' = 'missing'): string[] {
  writeFileSync(join(folder, '.ci/system-packages'), list)
  const script = `. .ci/packages.sh; packages ${which}`
  return execFileSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' }).split(/\s+/).filter(Boolean)
}

const ours = readFileSync('.ci/system-packages', 'utf8')

test('only packages of missing programs are installed, however a program is found', () => {
  const list = `# a comment

bash                  one                 is there
sluice-is-no-command  two,three           is not
/bin/*sh              four                is there
/bin/no-such-*        five                is not
python:json           six                 is there
python:no_such        seven               is not
`
  expect(packages(list)).toEqual(['two', 'three', 'five', 'seven'])
  expect(packages(list, 'all')).toEqual(['one', 'two', 'three', 'four', 'five', 'six', 'seven'])
})

test('each line says how to find a program, its packages and its purpose', () => {
  const lines = ours.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines.length).toBeGreaterThan(10)
  for (const line of lines) expect(line).toMatch(/^\S+ +[a-z0-9.+,-]+ +\S.*\S$/)
  expect(packages(ours, 'all')).toEqual(
    expect.arrayContaining(['maven', 'chromium-headless-shell', 'python3-venv']),
  )
})

test('CI and the development container install from the list', () => {
  const run = readFileSync('.ci/run', 'utf8')
  const container = readFileSync('.devcontainer/Dockerfile', 'utf8')
  expect(run).toContain('. .ci/packages.sh')
  expect(container).toContain('packages all')
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(container).toContain(`FROM node:${devDependencies.node}-`)
  expect(JSON.parse(readFileSync('.devcontainer/devcontainer.json', 'utf8'))).toMatchObject({
    build: { dockerfile: 'Dockerfile', context: '..' },
    remoteUser: 'node',
  })
})

test('the documentation names Debian packages that exist in more than one release', () => {
  for (const file of ['README.md', 'docs/get-started.md', '.ci/system-packages'])
    expect(readFileSync(file, 'utf8'), file).not.toMatch(/openjdk-\d+/)
})
