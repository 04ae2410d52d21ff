import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findKeys, makeDataFolder } from '../../local/data-folder.ts'
import { temporaryFolder } from './folders.ts'

const permissions = async (path: string) => (await stat(path)).mode & 0o777

test('keys are created once, readable only by their owner, and found again', async () => {
  const folder = join(await temporaryFolder(), 'data')
  await makeDataFolder(folder)
  const made = await findKeys(folder, { isNew: true })
  expect(await findKeys(folder, { isNew: false })).toEqual(made)
  expect(Buffer.from(made.CONFIG_KEY, 'base64')).toHaveLength(32)
  expect(made.CONTROL_TOKEN).not.toBe(made.CONTROL_VIEW_TOKEN)
  expect(await permissions(join(folder, 'keys.json'))).toBe(0o600)
  expect(await permissions(folder)).toBe(0o700)
})

test('a data folder that is a file is an invalid setting', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, '')
  for (const folder of [path, join(path, 'below')])
    await expect(makeDataFolder(folder)).rejects.toMatchObject({
      code: 'setting_invalid',
      message: expect.stringContaining(`SLUICE_DATA: ${folder} `),
    })
})

test('a data folder that cannot be created is an invalid setting', async () => {
  for (const folder of ['/proc/none', '/proc/none/below'])
    await expect(makeDataFolder(folder)).rejects.toMatchObject({
      code: 'setting_invalid',
      message: expect.stringContaining(`SLUICE_DATA: ${folder} `),
    })
})

test('a damaged file is refused, never replaced', async () => {
  const folder = await temporaryFolder()
  await findKeys(folder, { isNew: true })
  const path = join(folder, 'keys.json')
  await truncate(path, 60)
  await expect(findKeys(folder, { isNew: true })).rejects.toMatchObject({
    code: 'keys_damaged',
    message: expect.stringContaining(path),
  })
  expect(await readFile(path, 'utf8')).toHaveLength(60)
})

test('an empty file or a key of the wrong length counts as damaged', async () => {
  const folder = await temporaryFolder()
  const made = await findKeys(folder, { isNew: true })
  for (const text of ['', JSON.stringify({ ...made, CONFIG_KEY: 'c2hvcnQ=' })]) {
    await writeFile(join(folder, 'keys.json'), text)
    await expect(findKeys(folder, { isNew: true })).rejects.toMatchObject({ code: 'keys_damaged' })
  }
})

test('missing keys next to data are refused, because new keys could not decrypt the settings', async () => {
  await expect(findKeys(await temporaryFolder(), { isNew: false })).rejects.toMatchObject({
    code: 'keys_damaged',
    message: expect.stringContaining('is missing'),
  })
})
