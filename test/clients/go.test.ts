import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('../../clients/go', import.meta.url))
/** A cold compiler needs most of it. */
const TIMEOUT_MS = 170_000

/** @throws with all output */
const run = (program: string, ...args: string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile(program, args, { cwd, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`))
      else resolve(stdout + stderr)
    })
  })

// each set of build flags compiles Go's own packages again, which takes a minute of CPU: use the same flags throughout
const RACE = ['test', '-race']

let folder: string
let program: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  program = join(folder, 'analytics.test')
  await run('go', ...RACE, '-c', '-o', program, '.')
}, 180_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the Go library is formatted', async () => {
  expect(await run('gofmt', '-l', '.')).toBe('')
})

test('the Go library is vetted and passes its own tests and examples under the race detector', async () => {
  expect(await run('go', ...RACE, '-vet=all', '-count=1', './...')).toMatch(/^ok/m)
}, 180_000)

/** Number of inputs. Run `go test -fuzz` by hand to fuzz for longer. */
const FUZZED = { FuzzEncode: 15_000, FuzzSplit: 3_000 }

test('fuzzing finds nothing wrong, under the race detector', async () => {
  for (const [fuzz, inputs] of Object.entries(FUZZED)) {
    const options = { run: '^$', fuzz: `^${fuzz}$`, fuzztime: `${inputs}x`, fuzzcachedir: folder }
    const args = Object.entries(options).map(([name, value]) => `-test.${name}=${value}`)
    expect(await run(program, ...args), fuzz).toMatch(/^PASS$/m)
  }
}, 180_000)
