import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { classArchive } from '../../local/kafka/class-archive.ts'
import { cached, cacheFolder, createDownloads, percentage } from '../../local/kafka/downloads.ts'
import { checkSums } from '../../local/kafka/maven.ts'
import { terminalOn } from '../../local/terminal.ts'
import { temporaryFolder } from './folders.ts'

const fillWith = (name: string) => (folder: string) => writeFile(join(folder, name), name)

test('a folder is filled once and reused afterwards', async () => {
  const target = join(await temporaryFolder(), 'kafka')
  await cached(target, fillWith('jar'))
  await cached(target, () => Promise.reject(new Error('filled again')))
  expect(await readdir(target)).toEqual(['jar'])
})

test('a download that fails leaves nothing behind', async () => {
  const parent = await temporaryFolder()
  const halfway = async (folder: string) => {
    await writeFile(join(folder, 'half'), '')
    throw new Error('interrupted')
  }
  await expect(cached(join(parent, 'kafka'), halfway)).rejects.toThrow('interrupted')
  expect(await readdir(parent)).toEqual([])
})

test('of two simultaneous downloads the first wins and both succeed', async () => {
  const parent = await temporaryFolder()
  const target = join(parent, 'kafka')
  const firstIsDone = Promise.withResolvers<void>()
  const slow = cached(target, async (folder) => {
    await fillWith('slow')(folder)
    await firstIsDone.promise
  })
  await cached(target, fillWith('fast'))
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

test('leftovers of a killed download are removed, a recent folder is not', async () => {
  const parent = await temporaryFolder()
  await leftover(join(parent, 'kafka.part-old'))
  await mkdir(join(parent, 'kafka.part-new'))
  await cached(join(parent, 'kafka'), fillWith('jar'))
  expect((await readdir(parent)).sort()).toEqual(['kafka', 'kafka.part-new'])
})

test('leftovers are removed even if the folder exists, also for a class archive', async () => {
  const cache = await temporaryFolder()
  const target = join(cache, 'kafka')
  await cached(target, fillWith('jar'))
  await leftover(`${target}.part-old`)
  await cached(target, fillWith('jar'))
  expect(await readdir(cache)).toEqual(['kafka'])

  const java = { program: 'true', version: '17' } // succeeds without making anything
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

test('if the cache is not writable, one in the checkout is used', async () => {
  const folder = await temporaryFolder()
  expect(await cacheFolder({ XDG_CACHE_HOME: folder })).toBe(join(folder, 'sluice'))
  await writeFile(join(folder, 'file'), '')
  expect(await cacheFolder({ XDG_CACHE_HOME: join(folder, 'file') })).toMatch(
    /node_modules\/\.cache\/sluice$/,
  )
})

const sha512 = (text: string) => createHash('sha512').update(text).digest('hex')

test('a file from Maven is used only if it matches its pin', async () => {
  const folder = await temporaryFolder()
  const pins = join(folder, 'pins')
  await writeFile(pins, `# a comment\n${sha512('one')}  one.jar\n${sha512('two')}  two.jar\n`)
  const jars = join(folder, 'jars')
  await mkdir(join(jars, 'maven'), { recursive: true })
  await writeFile(join(jars, 'one.jar'), 'one')
  await expect(checkSums(jars, pins)).resolves.toBeUndefined()

  await writeFile(join(jars, 'two.jar'), 'another')
  await expect(checkSums(jars, pins)).rejects.toMatchObject({
    code: 'checksum_wrong',
    message: expect.stringContaining(`two.jar, downloaded by Maven, has the SHA-512 ${sha512('another')}`),
  })
  await rm(join(jars, 'two.jar'))
  await writeFile(join(jars, 'three.jar'), 'three')
  await expect(checkSums(jars, pins)).rejects.toThrow('three.jar, downloaded by Maven, has no pinned SHA-512')
})

test('the pins are valid input of sha512sum --check', async () => {
  const lines = (await readFile('local/kafka/maven.sha512', 'utf8')).trim().split('\n')
  const pins = lines.filter((line) => !line.startsWith('#'))
  for (const line of pins) expect(line).toMatch(/^[0-9a-f]{128} {2}[\w.-]+\.(jar|tar\.gz)$/)
  expect(new Set(pins.map((line) => line.slice(130))).size).toBe(pins.length)
})

const parts = [
  { name: 'Kafka', megabytes: 44 },
  { name: 'the schema registry', megabytes: 109 },
] as const

test('all downloads count together, from 0 to 100 percent, once', () => {
  const seen: string[] = []
  const onProgress = percentage(parts, (text, isLast) => seen.push(`${text}${isLast ? ', last' : ''}`))
  const [kafka, registry] = parts
  onProgress(kafka, 0)
  onProgress(kafka, 22)
  // larger than expected
  onProgress(kafka, 60)
  onProgress(kafka, Number.POSITIVE_INFINITY)
  // from Maven's own cache: nothing is downloaded
  onProgress(registry, 0)
  onProgress(registry, 200)
  onProgress(registry, Number.POSITIVE_INFINITY)
  const text = 'downloading Kafka and the schema registry (first start only):'
  expect(seen).toEqual(
    ['0 %', '14 %', '28 %', '28 %', '28 %', '99 %', '100 %'].map(
      (percent, index) => `${text} ${percent} of 153 MB${index === 6 ? ', last' : ''}`,
    ),
  )
  // a terminal of 80 columns can overwrite it
  for (const line of seen) expect(line.replace(', last', '').length).toBeLessThan(80)
})

test('the percentage only grows, and is 100 exactly when every part is complete', () => {
  const step = fc.record({
    part: fc.constantFrom(...parts),
    megabytes: fc.oneof(fc.double({ min: 0, max: 300, noNaN: true }), fc.constant(Number.POSITIVE_INFINITY)),
  })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const percents: number[] = []
      const onProgress = percentage(parts, (text) => percents.push(Number(/(\d+) %/.exec(text)?.[1])))
      for (const { part, megabytes } of steps) onProgress(part, megabytes)
      expect(percents).toEqual(percents.toSorted((a, b) => a - b))
      const complete = parts.every((part) =>
        steps.some((step) => step.part === part && step.megabytes === Number.POSITIVE_INFINITY),
      )
      expect(percents.at(-1) === 100).toBe(complete)
    }),
  )
})

test('what is in the cache is neither downloaded nor counted', async () => {
  const cache = await temporaryFolder()
  await mkdir(join(cache, 'kafka-4.3.1'))
  await mkdir(join(cache, 'apicurio-registry-3.0.9'))
  const seen: string[] = []
  const downloads = await createDownloads(cache, ['kafka', 'registry'], (text) => seen.push(text))
  expect([await downloads.kafkaJars(), await downloads.registryApp()]).toEqual([
    join(cache, 'kafka-4.3.1'),
    join(cache, 'apicurio-registry-3.0.9/apicurio-registry-app-3.0.9-runner.jar'),
  ])
  expect(seen).toEqual([])
})

test.each([
  ['a terminal', true, '\r\x1b[K1 %\r\x1b[K2 %\r\x1b[K100 %\nready\n'],
  ['a file', false, '1 %\n100 %\nready\n'],
])('the last progress is shown on %s, and ends its line', (_, isTTY, wanted) => {
  let written = ''
  const write = (text: string | Uint8Array) => {
    written += text
    return true
  }
  const { progress, line } = terminalOn({ isTTY, write })
  progress('1 %')
  progress('2 %')
  progress('100 %', true)
  line('ready')
  expect(written).toBe(wanted)
})
