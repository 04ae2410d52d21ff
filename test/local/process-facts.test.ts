import { expect, test } from 'vitest'
import { isAlive, parsePs, parseStat, processFacts } from '../../local/process-facts.ts'
import { spawnTied } from '../../local/tied.ts'
import { temporaryFolder } from './folders.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 100).join(' ')

test('a name with spaces and brackets does not shift the fields of /proc/PID/stat', () => {
  const stat = `7 (a) b (c) S 3 ${numbers(17)} 4711 ${numbers(10)}`
  expect(parseStat(7, stat, 'x y')).toEqual({ pid: 7, parent: 3, started: '4711', command: 'x y' })
})

test('the remains of a process are no process', () => {
  expect(parseStat(7, `7 (a) Z 3 ${numbers(20)}`, '')).toBeUndefined()
  expect(parsePs(7, 'Z+ 3 Fri Nov 21 07:00:01 2025 (node)')).toBeUndefined()
})

test('ps tells the same', () => {
  expect(parsePs(7, 'Ss   412 Fri Nov 21 07:00:01 2025     node main.ts --x\n')).toEqual({
    pid: 7,
    parent: 412,
    started: 'Fri Nov 21 07:00:01 2025',
    command: 'node main.ts --x',
  })
  expect(parsePs(7, '')).toBeUndefined()
})

test('a process is alive until it ends, and only under its own start time', async () => {
  await temporaryFolder()
  const child = spawnTied('sleep', { args: ['60'] })
  const facts = processFacts(child.pid)
  expect(facts).toMatchObject({ pid: child.pid, parent: process.pid })
  expect(isAlive(child.pid, facts?.started ?? '')).toBe(true)
  expect(isAlive(child.pid, 'another')).toBe(false)
  await child.kill()
  expect(isAlive(child.pid, facts?.started ?? '')).toBe(false)
})
