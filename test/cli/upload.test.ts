import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { temporaryFolder } from '../local/folders.ts'
import { aContext } from './in-memory.ts'

const PREVIEW = {
  ...{ lines: 2, changed: 2, removed: 0, unchanged: 0, suppressed: 0, current: 0, invalid: 0 },
  ...{ invalidLines: [], confirm: null },
}

/** Control, as far as uploads need it. */
async function aControl(sync: object = { state: 'done' }) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await text(request))
    response.end(JSON.stringify(request.url?.includes('dryRun') ? PREVIEW : sync))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { bodies, env: { SLUICE_URL: `http://127.0.0.1:${port}`, CONTROL_TOKEN: 'a-token-of-control' } }
}

const SLUICE = fileURLToPath(new URL('../../cli/sluice', import.meta.url))

test('an upload from a pipe sends what its preview showed', async () => {
  const { bodies, env } = await aControl()
  const script = `printf 'a\\nb\\n' | ${SLUICE} upload audience vip /dev/stdin`
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script], { env: { ...process.env, ...env } })
  expect(stdout).toMatch(/Done\.\n$/)
  expect(bodies).toEqual(['a\nb\n', 'a\nb\n'])
})

test.each(['upload audience vip -', 'delete-user -', 'apply -'])(
  'input that is not UTF-8 is refused (%s)',
  async (command) => {
    const { bodies, env } = await aControl()
    const script = `printf 'caf\\351\\n' | ${SLUICE} ${command}`
    const ended = promisify(execFile)('/bin/sh', ['-c', script], { env: { ...process.env, ...env } })
    await expect(ended).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('is not UTF-8') })
    expect(bodies).toEqual([])
  },
)

test('a sync that fails says why, with control characters escaped', async () => {
  const { env } = await aControl({
    state: 'failed',
    cause: { code: 'upload_lost', message: 'send it \x1b[31magain' },
  })
  const file = join(await temporaryFolder(), 'members.txt')
  await writeFile(file, 'c\n')
  const context = aContext({ env })
  expect(await run(['upload', 'audience', 'vip', file], context)).toBe(1)
  expect(context.out.said.at(-1)).toBe('The sync failed: send it \\u001b[31magain')
})

test('a file is sent, and a folder is not readable', async () => {
  const { bodies, env } = await aControl()
  const folder = await temporaryFolder()
  const file = join(folder, 'members.txt')
  await writeFile(file, 'c\n')
  expect(await run(['upload', 'audience', 'vip', file], aContext({ env }))).toBe(0)
  expect(bodies).toEqual(['c\n', 'c\n'])

  const context = aContext({ env })
  expect(await run(['upload', 'audience', 'vip', folder], context)).toBe(1)
  expect(context.err.text()).toContain(`Cannot read ${folder}: EISDIR`)
  expect(bodies).toHaveLength(2)
})
