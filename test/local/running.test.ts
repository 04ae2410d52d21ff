import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findRunning, tellRunning } from '../../local/running.ts'
import { temporaryFolder } from './folders.ts'

const at = { control: 'http://127.0.0.1:8081', ingest: 'http://127.0.0.1:8080', controlToken: 'its-token' }

test('a running npm start is found with its addresses and token, which nobody else may read, until it ends', async () => {
  const folder = await temporaryFolder()
  expect(await findRunning(folder)).toBeUndefined()
  const takeBack = await tellRunning(folder, at)
  const { control, ingest } = at
  expect(await findRunning(folder)).toEqual({ control, ingest, token: 'its-token' })
  expect((await stat(join(folder, 'running.json'))).mode & 0o077).toBe(0)
  await takeBack()
  expect(await findRunning(folder)).toBeUndefined()
})

test('one that was killed is not, also when another process has its pid now', async () => {
  const folder = await temporaryFolder()
  await tellRunning(folder, at)
  const path = join(folder, 'running.json')
  const told = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ ...told, started: 'before' }))
  expect(await findRunning(folder)).toBeUndefined()
  await writeFile(path, '{"pid":')
  expect(await findRunning(folder)).toBeUndefined()
})
