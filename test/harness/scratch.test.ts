import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const scratch = new URL('../../harness/scratch.ts', import.meta.url).href
const childProcess = new URL('../../local/processes/child-process.ts', import.meta.url).href

/** More folders than an emitter takes listeners without a warning. */
const program = (end: string) => [
  '--input-type=module',
  '-e',
  `
  import { mkdirSync, writeFileSync } from 'node:fs'
  import { exitWhenInterrupted, scratchFolder } from ${JSON.stringify(scratch)}
  exitWhenInterrupted()
  const folders = []
  for (let count = 0; count < 12; count++) folders.push(await scratchFolder('test'))
  mkdirSync(folders[0] + '/kafka')
  writeFileSync(folders[0] + '/kafka/log', '1')
  console.log(JSON.stringify(folders))
  ${end}`,
]

async function expectGone(folders: string): Promise<void> {
  expect(JSON.parse(folders)).toHaveLength(12)
  for (const folder of JSON.parse(folders)) await expect(access(folder)).rejects.toThrow('ENOENT')
}

test.for([
  ['ends', ''],
  ['is told to exit', 'process.exit(0)'],
] as const)('scratch folders with what is in them are gone when their process %s', async ([_, end]) => {
  const { stdout, stderr } = await run(process.execPath, program(end))
  expect(stderr).toBe('')
  await expectGone(stdout)
})

test('they are gone when it fails', async () => {
  const failed = await run(process.execPath, program('throw new Error("as it happens")')).catch(
    (error) => error,
  )
  expect(failed.stderr).toContain('as it happens')
  await expectGone(failed.stdout)
})

test.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'they are gone after %s, though it comes again while what was started ends',
  async (signal) => {
    const end = `
      const { spawnChild } = await import(${JSON.stringify(childProcess)})
      spawnChild('sleep', { args: ['60'] })
      process.once('${signal}', () => console.log('heard'))
      console.log('begun')`
    const child = spawn(process.execPath, program(end), { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const { value: folders = '' } = await lines.next()
    expect(await lines.next()).toMatchObject({ value: 'begun' })
    child.kill(signal)
    expect(await lines.next()).toMatchObject({ value: 'heard' })
    child.kill(signal)
    expect(await ended).toEqual([130, null])
    await expectGone(folders)
  },
)
