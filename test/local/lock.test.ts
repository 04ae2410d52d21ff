import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { identify, isAlive, startTimeInPs, startTimeInStat, takeLock } from '../../local/lock.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { temporaryFolder } from './folders.ts'

test('a lock exists until it is released', async () => {
  const folder = await temporaryFolder()
  const lock = await takeLock(folder)
  expect(await readdir(folder)).toEqual(['lock'])
  await lock.release()
  expect(await readdir(folder)).toEqual([])
})

test('a held lock is refused with the pid, the folder and a way out', async () => {
  const folder = await temporaryFolder()
  const holder = spawnChild('sleep', { args: ['60'] })
  await writeFile(join(folder, 'lock'), JSON.stringify(identify(holder.pid)))
  const refusal = await takeLock(folder).catch((error) => error)
  expect(refusal).toMatchObject({ code: 'already_running' })
  for (const part of [String(holder.pid), folder, 'SLUICE_DATA']) expect(refusal.message).toContain(part)
  expect(await readdir(folder)).toEqual(['lock'])
})

test('a lock whose holder is gone is taken over', async () => {
  const folder = await temporaryFolder()
  const holder = spawnChild('sleep', { args: ['60'] })
  await writeFile(join(folder, 'lock'), JSON.stringify(identify(holder.pid)))
  await holder.kill()
  await takeLock(folder)
  expect(await readdir(folder)).toEqual(['lock'])
})

test('a lock whose pid another process has now is taken over', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'lock'), JSON.stringify({ pid: process.pid, started: 'another time' }))
  await takeLock(folder)
})

test('a lock that cannot be read is taken over', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'lock'), '{"pi')
  await takeLock(folder)
})

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 100).join(' ')

test('a name with spaces and brackets does not shift the fields of /proc/PID/stat', () => {
  expect(startTimeInStat(`7 (a) b (c) S 3 ${numbers(17)} 4711 ${numbers(10)}`)).toBe('4711')
})

test('a zombie counts as gone', () => {
  expect(startTimeInStat(`7 (a) Z 3 ${numbers(20)}`)).toBeUndefined()
  expect(startTimeInPs('Z+ Fri Nov 21 07:00:01 2025')).toBeUndefined()
})

test('ps gives the start time too', () => {
  expect(startTimeInPs('Ss   Fri Nov 21 07:00:01 2025\n')).toBe('Fri Nov 21 07:00:01 2025')
  expect(startTimeInPs('')).toBeUndefined()
})

test('a process is alive until it ends, and only with its own start time', async () => {
  await temporaryFolder()
  const child = spawnChild('sleep', { args: ['60'] })
  const id = identify(child.pid)
  expect(isAlive(id)).toBe(true)
  expect(isAlive({ ...id, started: 'another' })).toBe(false)
  await child.kill()
  expect(isAlive(id)).toBe(false)
})
