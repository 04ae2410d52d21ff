import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../local/folders.ts'
import { COMPILED, filesIn, processesIn } from '../setup/left-behind.ts'

test('what tests leave in the folder of their run is found, but not what belongs to the run', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, COMPILED))
  await mkdir(join(folder, 'sluice-worker-a1b2c3'))
  await writeFile(join(folder, 'testcontainers-node-0.lock'), '')
  expect(await filesIn(folder)).toEqual([])
  await mkdir(join(folder, 'sluice-broker-a1b2c3'))
  await writeFile(join(folder, 'another'), '')
  expect(await filesIn(folder)).toEqual(['another', 'sluice-broker-a1b2c3'])
})

test.runIf(process.platform === 'linux')(
  'a process that was started with the folder in its environment is found until it has ended',
  async () => {
    const folder = await temporaryFolder()
    expect(processesIn(folder)).toEqual([])
    const child = spawn('sleep', ['60'], { env: { PATH: process.env.PATH, TMPDIR: folder } })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    expect(processesIn(folder)).toEqual([`${child.pid} sleep 60`])
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(processesIn(folder)).toEqual([])
  },
)
