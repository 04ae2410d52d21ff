import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkSums } from '../../local/maven.ts'
import { temporaryFolder } from './folders.ts'

const sha512 = (text: string) => createHash('sha512').update(text).digest('hex')

test('a file from Maven is used only when it is the pinned one', async () => {
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
    message: expect.stringContaining(`two.jar, fetched by Maven, has the SHA-512 ${sha512('another')}`),
  })
  await rm(join(jars, 'two.jar'))
  await writeFile(join(jars, 'three.jar'), 'three')
  await expect(checkSums(jars, pins)).rejects.toThrow('three.jar, fetched by Maven, has no pinned SHA-512')
})

test('the pins are what sha512sum --check takes', async () => {
  const lines = (await readFile('local/maven.sha512', 'utf8')).trim().split('\n')
  const pins = lines.filter((line) => !line.startsWith('#'))
  for (const line of pins) expect(line).toMatch(/^[0-9a-f]{128} {2}[\w.-]+\.(jar|tar\.gz)$/)
  expect(new Set(pins.map((line) => line.slice(130))).size).toBe(pins.length)
})
