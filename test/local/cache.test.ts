import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cacheFolder, whole } from '../../local/cache.ts'
import { temporaryFolder } from './folders.ts'

const fillWith = (name: string) => (folder: string) => writeFile(join(folder, name), name)

test('a folder is filled once and found afterwards', async () => {
  const target = join(await temporaryFolder(), 'kafka')
  await whole(target, fillWith('jar'))
  await whole(target, () => Promise.reject(new Error('filled again')))
  expect(await readdir(target)).toEqual(['jar'])
})

test('a download that fails leaves nothing behind', async () => {
  const parent = await temporaryFolder()
  const halfway = async (folder: string) => {
    await writeFile(join(folder, 'half'), '')
    throw new Error('broken off')
  }
  await expect(whole(join(parent, 'kafka'), halfway)).rejects.toThrow('broken off')
  expect(await readdir(parent)).toEqual([])
})

test('of two downloads at the same time the first wins and both end well', async () => {
  const parent = await temporaryFolder()
  const target = join(parent, 'kafka')
  const firstIsDone = Promise.withResolvers<void>()
  const slow = whole(target, async (folder) => {
    await fillWith('slow')(folder)
    await firstIsDone.promise
  })
  await whole(target, fillWith('fast'))
  firstIsDone.resolve()
  expect(await slow).toBe(target)
  expect(await readdir(target)).toEqual(['fast'])
  expect(await readdir(parent)).toEqual(['kafka'])
})

test('what a killed download left is removed, a younger one is not', async () => {
  const parent = await temporaryFolder()
  for (const name of ['kafka.part-old', 'kafka.part-new']) await mkdir(join(parent, name))
  const yesterday = new Date(Date.now() - 24 * 3_600_000)
  await utimes(join(parent, 'kafka.part-old'), yesterday, yesterday)
  await whole(join(parent, 'kafka'), fillWith('jar'))
  expect((await readdir(parent)).sort()).toEqual(['kafka', 'kafka.part-new'])
})

test('a cache that cannot be written gives way to one beside the code', async () => {
  const folder = await temporaryFolder()
  expect(await cacheFolder({ XDG_CACHE_HOME: folder })).toBe(join(folder, 'sluice'))
  await writeFile(join(folder, 'file'), '')
  expect(await cacheFolder({ XDG_CACHE_HOME: join(folder, 'file') })).toMatch(
    /node_modules\/\.cache\/sluice$/,
  )
})
