import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../../clients/go', import.meta.url))
/** A cold compiler takes most of it. */
const PATIENCE_MS = 170_000

/** @throws with all that it said. */
const go = (...args: string[]) =>
  new Promise<string>((resolve, reject) => {
    execFile('go', args, { cwd, timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}${stderr}`))
      else resolve(stdout + stderr)
    })
  })

test('the Go library is formatted and vetted', async () => {
  expect((await run('gofmt', ['-l', '.'], { cwd })).stdout).toBe('')
  expect(await go('vet', './...')).toBe('')
}, 180_000)

test('the Go library passes its own tests, its examples among them, under the race detector', async () => {
  expect(await go('test', '-race', '-count=1', './...')).toMatch(/^ok/m)
}, 180_000)

const FUZZED = ['FuzzEncode', 'FuzzSplit']

test.each(FUZZED)(
  '%s finds nothing wrong',
  async (fuzz) => {
    expect(await go('test', '-run=^$', `-fuzz=^${fuzz}$`, '-fuzztime=3s', '.')).toMatch(/^ok/m)
  },
  180_000,
)
