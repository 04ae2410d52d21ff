import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeLock } from '../../local/lock.ts'
import { processFacts } from '../../local/process-facts.ts'
import { spawnTied } from '../../local/tied.ts'
import { temporaryFolder } from './folders.ts'

const started = (pid: number) => processFacts(pid)?.started ?? ''

test('a lock is taken, and gone after its release', async () => {
  const folder = await temporaryFolder()
  const lock = await takeLock(folder)
  expect(await readdir(folder)).toEqual(['lock'])
  await lock.release()
  expect(await readdir(folder)).toEqual([])
})

test('a lock whose holder lives is refused with its pid, the folder and a way out', async () => {
  const folder = await temporaryFolder()
  const holder = spawnTied('sleep', { args: ['60'] })
  const content = JSON.stringify({ pid: holder.pid, started: started(holder.pid) })
  await writeFile(join(folder, 'lock'), content)
  const refusal = await takeLock(folder).catch((error) => error)
  expect(refusal).toMatchObject({ code: 'already_running' })
  for (const part of [String(holder.pid), folder, 'SLUICE_DATA']) expect(refusal.message).toContain(part)
  expect(await readdir(folder)).toEqual(['lock'])
})

test('a lock whose holder is gone is taken over', async () => {
  const folder = await temporaryFolder()
  const holder = spawnTied('sleep', { args: ['60'] })
  await writeFile(join(folder, 'lock'), JSON.stringify({ pid: holder.pid, started: started(holder.pid) }))
  await holder.kill()
  await takeLock(folder)
  expect(await readdir(folder)).toEqual(['lock'])
})

test('a lock whose pid belongs to a younger process now is taken over', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'lock'), JSON.stringify({ pid: process.pid, started: 'another time' }))
  await takeLock(folder)
})

test('a lock that cannot be read is taken over', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'lock'), '{"pi')
  await takeLock(folder)
})
