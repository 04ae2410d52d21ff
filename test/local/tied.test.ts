import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { processFacts } from '../../local/process-facts.ts'
import { spawnTied, spawnTiedNode } from '../../local/tied.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { anyLives, childrenOf } from './living.ts'

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

test('a parent killed with -9 takes its broker, its Node process and the watcher with it', async () => {
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

test('a child that ends by itself leaves no watcher, and its exit is told', async () => {
  await temporaryFolder()
  const child = spawnTied('sh', { args: ['-c', 'sleep 60; exit 7'] })
  const isSleep = (pid: number) => processFacts(pid)?.command === 'sleep 60'
  const asleep = await until(() => childrenOf(child.pid).find(isSleep))
  const children = childrenOf(child.pid) // the watcher too
  expect(children).toHaveLength(2)
  process.kill(asleep)
  expect(await child.exited).toEqual({ code: 7, signal: null })
  await until(() => !anyLives(children), { message: 'the watcher has left' })
})

test('a child whose watcher is killed is ended, since nothing would end it with us', async () => {
  await temporaryFolder()
  const child = spawnTied('sleep', { args: ['60'] })
  const [watcher] = await until(() => {
    const found = childrenOf(child.pid)
    return found.length === 1 && found
  })
  process.kill(watcher ?? 0, 'SIGKILL')
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a child that does not heed SIGTERM is killed when its time is over', async () => {
  await temporaryFolder()
  const lines: string[] = []
  const script = 'trap "" TERM; echo deaf; while :; do sleep 1; done'
  const child = spawnTied('sh', { args: ['-c', script], onLine: (line) => lines.push(line) })
  await until(() => lines.includes('deaf'))
  const begin = performance.now()
  expect(await child.stop(500)).toEqual({ code: null, signal: 'SIGKILL' })
  expect(performance.now() - begin).toBeGreaterThan(450)
})

test('a Node process is not kept running by its tie', async () => {
  await temporaryFolder()
  const child = spawnTiedNode(fixture('nothing.ts'), { args: [] })
  expect(await child.exited).toEqual({ code: 0, signal: null })
})

test('lines of stdout and stderr have been handed on when the exit is told', async () => {
  await temporaryFolder()
  const lines: string[] = []
  const child = spawnTied('sh', {
    args: ['-c', 'echo out; echo err >&2'],
    onLine: (line) => lines.push(line),
  })
  await child.exited
  expect(lines.sort()).toEqual(['err', 'out'])
})

test('a program that does not exist ends with 127', async () => {
  await temporaryFolder()
  expect((await spawnTied('no-such-program', { args: [] }).exited).code).toBe(127)
})
