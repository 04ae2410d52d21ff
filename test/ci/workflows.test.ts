import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const FOLDER = '.github/workflows'
const names = readdirSync(FOLDER)
const text = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const has = (program: string) => spawnSync(program, ['--version']).status === 0

const shape = z.looseObject({
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(z.string(), z.looseObject({ needs: z.union([z.string(), z.array(z.string())]).optional() })),
})
const jobsOf = (name: string) => shape.parse(parse(text(name))).jobs

// .ci/run builds actionlint with Go
test.skipIf(!has('actionlint'))('actionlint finds nothing wrong with the workflows', () => {
  const { stdout, stderr } = spawnSync('actionlint', { encoding: 'utf8' })
  expect(stdout + stderr).toBe('')
})

test.skipIf(!has('shellcheck'))('shellcheck finds nothing wrong with shell scripts', () => {
  const scripts = ['.ci/run', '.ci/packages.sh', ...globSync('{ops,cli}/**/*.sh')]
  const { stdout } = spawnSync('shellcheck', ['--external-sources', '--shell=bash', ...scripts], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
})

test.each(names)('%s pins third-party actions to commits and names the version', (name) => {
  const used = [...text(name).matchAll(/uses: (.*)/g)].map(([, action = '']) => action)
  expect(used.length).toBeGreaterThan(0)
  for (const action of used) expect(action).toMatch(/^(\.\/\S+|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/)
})

describe('the release', () => {
  const jobs = jobsOf('release.yml')

  function needed(job: string): string[] {
    const direct = [jobs[job]?.needs ?? []].flat()
    return [...new Set([...direct, ...direct.flatMap(needed)])]
  }

  test('publishes nothing before CI has passed', () => {
    for (const job of Object.keys(jobs).filter((each) => !['tag', 'ci'].includes(each)))
      expect(needed(job), job).toEqual(expect.arrayContaining(['tag', 'ci']))
  })

  test('announces nothing before everything is published', () => {
    expect(needed('notes').toSorted()).toEqual(
      Object.keys(jobs)
        .filter((job) => job !== 'notes')
        .toSorted(),
    )
  })
})

test('CI runs .ci/run, and tries the image where it must not be skipped', () => {
  expect(text('ci.yml')).toMatch(/run: docker run .* \.ci\/run$/m)
  expect(text('ci.yml')).toMatch(/run: ops\/image\/try\.sh --required$/m)
})

test('Dependabot checks exactly the folders that list packages', () => {
  const updates = z
    .array(
      z.object({
        'package-ecosystem': z.string(),
        directory: z.string().optional(),
        directories: z.array(z.string()).optional(),
      }),
    )
    .parse(parse(readFileSync('.github/dependabot.yml', 'utf8')).updates)
  const folders = (ecosystem: string) =>
    updates
      .filter((update) => update['package-ecosystem'] === ecosystem)
      .flatMap(({ directory = [], directories = [] }) => [directory, directories].flat())
      .toSorted()
  const holding = (pattern: string) =>
    globSync(pattern, { exclude: (path) => /(^|\/)(node_modules|\.venv|dist)$/.test(path) })
      .map((path) => join('/', dirname(path)))
      .toSorted()
  expect(folders('gomod')).toEqual(holding('**/go.mod'))
  expect(folders('pip')).toEqual(holding('**/requirements.txt'))
  expect(folders('maven')).toEqual(holding('**/pom.xml'))
  expect(folders('docker')).toEqual(holding('{Dockerfile,.devcontainer/Dockerfile}'))
  expect(folders('npm')).toEqual(['/', '/clients/node'])
  expect(folders('github-actions').concat(folders('docker-compose'))).toEqual(['/', '/'])
  expect(existsSync('docker-compose.yml')).toBe(true)
})
