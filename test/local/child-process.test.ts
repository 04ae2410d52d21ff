import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { spawnChild, spawnNodeChild } from '../../local/processes/child-process.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { anyLives, childrenOf, commandOf } from './processes.ts'

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

test('when a parent is killed with -9, its broker, its Node process and the watcher end too', async () => {
  const holder = spawn(process.execPath, [fixture('holder.ts'), await temporaryFolder()], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void holder.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: holder.stdout }), 'line')
  const { broker, node } = JSON.parse(line)
  const pids = [broker, node, ...childrenOf(broker)]
  expect(pids).toHaveLength(3)
  holder.kill('SIGKILL')
  await until(() => !anyLives(pids), { message: 'all gone' })
})

test('a child that exits by itself leaves no watcher and reports its exit', async () => {
  await temporaryFolder()
  const child = spawnChild('sh', { args: ['-c', 'sleep 60; exit 7'] })
  const isSleep = (pid: number) => commandOf(pid) === 'sleep 60'
  const asleep = await until(() => childrenOf(child.pid).find(isSleep))
  const children = childrenOf(child.pid) // the watcher too
  expect(children).toHaveLength(2)
  process.kill(asleep)
  expect(await child.exited).toEqual({ code: 7, signal: null })
  await until(() => !anyLives(children), { message: 'the watcher has exited' })
})

test('a child whose watcher is killed is killed too, because it could outlive its parent', async () => {
  await temporaryFolder()
  const child = spawnChild('sleep', { args: ['60'] })
  const [watcher] = await until(() => {
    const found = childrenOf(child.pid)
    return found.length === 1 && found
  })
  process.kill(watcher ?? 0, 'SIGKILL')
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a child that ignores SIGTERM is killed after the grace time', async () => {
  await temporaryFolder()
  const lines: string[] = []
  const script = 'trap "" TERM; echo deaf; while :; do sleep 1; done'
  const child = spawnChild('sh', { args: ['-c', script], onLine: (line) => lines.push(line) })
  await until(() => lines.includes('deaf'))
  const begin = performance.now()
  expect(await child.stop(500)).toEqual({ code: null, signal: 'SIGKILL' })
  expect(performance.now() - begin).toBeGreaterThan(450)
})

test('the IPC channel does not keep a Node process running', async () => {
  await temporaryFolder()
  const child = spawnNodeChild(fixture('nothing.ts'), { args: [] })
  expect(await child.exited).toEqual({ code: 0, signal: null })
})

test('all lines of stdout and stderr arrive before the exit', async () => {
  await temporaryFolder()
  const lines: string[] = []
  const child = spawnChild('sh', {
    args: ['-c', 'echo out; echo err >&2'],
    onLine: (line) => lines.push(line),
  })
  await child.exited
  expect(lines.sort()).toEqual(['err', 'out'])
})

test('a program that does not exist exits with 127', async () => {
  await temporaryFolder()
  expect((await spawnChild('no-such-program', { args: [] }).exited).code).toBe(127)
})
