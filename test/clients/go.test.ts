import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('../../clients/go', import.meta.url))
const MODULE = 'github.com/sluice-dev/sluice/clients/go'
/** A cold compiler needs most of it. */
const TIMEOUT_MS = 580_000

const run = (program: string, ...args: string[]) => runIn({ cwd }, program, ...args)

/** @throws with all output */
const runIn = (options: { cwd: string; env?: NodeJS.ProcessEnv }, program: string, ...args: string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile(program, args, { ...options, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`))
      else resolve(stdout + stderr)
    })
  })

// always the same flags: others compile Go's own packages again, for a minute of CPU
const RACE = ['test', '-race']

let folder: string
let program: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  program = join(folder, 'analytics.test')
  await run('go', ...RACE, '-c', '-o', program, '.')
}, 600_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the Go library is formatted', async () => {
  expect(await run('gofmt', '-l', '.')).toBe('')
})

test('the Go library is vetted and passes its own tests and examples under the race detector', async () => {
  expect(await run('go', ...RACE, '-vet=all', '-count=1', './...')).toMatch(/^ok/m)
}, 600_000)

/** Inputs. By hand, `go test -fuzz` runs for longer. */
const FUZZED = { FuzzEncode: 15_000, FuzzSplit: 3_000 }

test('fuzzing finds nothing wrong, under the race detector', async () => {
  for (const [fuzz, inputs] of Object.entries(FUZZED)) {
    const options = { run: '^$', fuzz: `^${fuzz}$`, fuzztime: `${inputs}x`, fuzzcachedir: folder }
    const args = Object.entries(options).map(([name, value]) => `-test.${name}=${value}`)
    expect(await run(program, ...args), fuzz).toMatch(/^PASS$/m)
  }
}, 600_000)

test('a program moves from analytics-go by search and replace, and its package has the same names', async () => {
  const moved = { cwd: fileURLToPath(new URL('moved', import.meta.url)) }
  expect(await runIn(moved, 'gofmt', '-l', '.')).toBe('')
  expect(await runIn(moved, 'go', 'test', '-vet=all', '-count=1', './...')).toMatch(/^ok/m)
}, 600_000)

const mainOf = (path: string) => `package main

import "${path}"

func main() {
	client := analytics.New("shop-write-key")
	if err := client.Enqueue(analytics.Track{UserId: "u1", Event: "Opened"}); err != nil {
		panic(err)
	}
}
`

test('a module that is tagged as the README says can be fetched by its path', async () => {
  const repository = join(folder, 'repository')
  const copy = join(repository, 'clients/go')
  await cp(cwd, copy, { recursive: true })
  const { version = '' } =
    /^const Version = "(?<version>.+)"$/m.exec(await readFile(join(cwd, 'batch.go'), 'utf8'))?.groups ?? {}
  const tag = `clients/go/v${version}`
  expect(await readFile(join(cwd, 'README.md'), 'utf8')).toContain(`\`${tag}\``)
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgSign=false']
  for (const args of [
    ['init', '--quiet'],
    ['add', '--all'],
    [...identity, 'commit', '--quiet', '-m', 'A release'],
    ['tag', tag],
  ])
    await runIn({ cwd: repository }, 'git', ...args)

  const app = join(folder, 'app')
  const paths = [MODULE, `${MODULE}/analytics-go`]
  for (const [index, path] of paths.entries()) {
    await mkdir(join(app, `program${index}`), { recursive: true })
    await writeFile(join(app, `program${index}/main.go`), mainOf(path))
  }
  const env = {
    ...process.env,
    GOPRIVATE: MODULE,
    GOMODCACHE: join(folder, 'modules'),
    GOFLAGS: '-modcacherw',
    // in place of a clone of the published repository
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.file://${repository}.insteadOf`,
    GIT_CONFIG_VALUE_0: 'https://github.com/sluice-dev/sluice',
  }
  const go = (...args: string[]) => runIn({ cwd: app, env }, 'go', ...args)
  await go('mod', 'init', 'app')
  await go('get', `${MODULE}@v${version}`)
  await go('build', './...')
  expect(await go('list', '-m', 'all')).toBe(`app\n${MODULE} v${version}\n`)
  const fetched = (await go('list', '-m', '-f', '{{.Dir}}', MODULE)).trim()
  expect(await readFile(join(fetched, 'LICENSE'), 'utf8')).toBe(
    await readFile(join(cwd, '../../LICENSE'), 'utf8'),
  )
}, 600_000)
