import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../helpers/until.ts'
import { anyLives } from './processes.ts'

const program = fileURLToPath(new URL('./fixtures/shutdown.ts', import.meta.url))

/** Starts the program below a shell, and kills the shell. @returns the program's pid */
async function orphan(env: NodeJS.ProcessEnv): Promise<number> {
  const { npm_lifecycle_event: _, ...rest } = process.env
  const shell = spawn('sh', ['-c', '"$0" "$1" & wait', process.execPath, program], {
    env: { ...rest, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: shell.stdout }), 'line')
  const pid = Number(line)
  onTestFinished(() => {
    if (anyLives([pid])) process.kill(pid, 'SIGKILL')
  })
  shell.kill('SIGKILL')
  return pid
}

test('when npm is killed, the process that it started shuts down', async () => {
  const pid = await orphan({ npm_lifecycle_event: 'start' })
  await until(() => !anyLives([pid]), { message: 'the process has exited' })
})

test('without npm the parent is not watched: it may be a shell that has started us in the background', async () => {
  const pid = await orphan({})
  await sleep(1_000) // four checks
  expect(anyLives([pid])).toBe(true)
})
