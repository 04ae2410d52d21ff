import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findRunning, publishRunning } from '../../local/running.ts'
import { temporaryFolder } from './folders.ts'

const at = {
  control: 'http://127.0.0.1:8081',
  ingest: 'http://127.0.0.1:8080',
  brokers: '127.0.0.1:9092',
  registryUrl: 'http://127.0.0.1:8085/apis/ccompat/v7',
  controlToken: 'its-token',
}

test('a running npm start is found with its addresses and token until it ends, in a file that only its owner may read', async () => {
  const folder = await temporaryFolder()
  expect(await findRunning(folder)).toBeUndefined()
  const unpublish = await publishRunning(folder, at)
  const { registryUrl: registry, controlToken: token, ...rest } = at
  expect(await findRunning(folder)).toEqual({ ...rest, registry, token })
  expect((await stat(join(folder, 'running.json'))).mode & 0o077).toBe(0)
  await unpublish()
  expect(await findRunning(folder)).toBeUndefined()
})

test('a killed one is not found, even if another process has its pid now', async () => {
  const folder = await temporaryFolder()
  await publishRunning(folder, at)
  const path = join(folder, 'running.json')
  const published = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify({ ...published, started: 'before' }))
  expect(await findRunning(folder)).toBeUndefined()
  await writeFile(path, '{"pid":')
  expect(await findRunning(folder)).toBeUndefined()
})
