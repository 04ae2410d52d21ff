import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { classArchive } from '../../local/archive.ts'
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

async function leftover(path: string): Promise<void> {
  await mkdir(path)
  const yesterday = new Date(Date.now() - 24 * 3_600_000)
  await utimes(path, yesterday, yesterday)
}

test('what a killed download left is removed, a younger one is not', async () => {
  const parent = await temporaryFolder()
  await leftover(join(parent, 'kafka.part-old'))
  await mkdir(join(parent, 'kafka.part-new'))
  await whole(join(parent, 'kafka'), fillWith('jar'))
  expect((await readdir(parent)).sort()).toEqual(['kafka', 'kafka.part-new'])
})

test('what a killed one left is removed also when the folder is there, a class archive too', async () => {
  const cache = await temporaryFolder()
  const target = join(cache, 'kafka')
  await whole(target, fillWith('jar'))
  await leftover(`${target}.part-old`)
  await whole(target, fillWith('jar'))
  expect(await readdir(cache)).toEqual(['kafka'])

  const java = { program: 'true', version: '17' } // makes nothing, and well
  const options = { java, cache, name: 'classes', classPath: '', list: '' }
  await (await classArchive(options)).make()
  const folder = (await readdir(cache)).find((name) => name.startsWith('classes-')) ?? ''
  await fillWith('classes.jsa')(join(cache, folder))
  await leftover(join(cache, `${folder}.part-old`))
  const archive = await classArchive(options)
  expect(archive.flags).toEqual([`-XX:SharedArchiveFile=${join(cache, folder, 'classes.jsa')}`])
  await archive.make()
  expect((await readdir(cache)).sort()).toEqual([folder, 'kafka'])
})

test('a cache that cannot be written gives way to one beside the code', async () => {
  const folder = await temporaryFolder()
  expect(await cacheFolder({ XDG_CACHE_HOME: folder })).toBe(join(folder, 'sluice'))
  await writeFile(join(folder, 'file'), '')
  expect(await cacheFolder({ XDG_CACHE_HOME: join(folder, 'file') })).toMatch(
    /node_modules\/\.cache\/sluice$/,
  )
})
