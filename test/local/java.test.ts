import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaJars } from '../../local/kafka/downloads.ts'
import { findJava, majorVersion } from '../../local/kafka/java.ts'
import { temporaryFolder } from './folders.ts'

const waysOut = ['default-jre-headless maven', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'docker compose up']

test('without Java, the error lists every alternative', async () => {
  const missing = await findJava({ PATH: await temporaryFolder() }).catch((error) => error)
  expect(missing).toMatchObject({ code: 'java_missing' })
  for (const way of waysOut) expect(missing.message).toContain(way)
})

test('a Java that is too old is named with its version', async () => {
  const home = await temporaryFolder()
  await mkdir(join(home, 'bin'))
  await writeFile(join(home, 'bin', 'java'), '#!/bin/sh\necho \'openjdk version "11.0.2" 2019-01-15\' >&2\n')
  await chmod(join(home, 'bin', 'java'), 0o755)
  await expect(findJava({ ...process.env, JAVA_HOME: home })).rejects.toMatchObject({
    code: 'java_missing',
    message: expect.stringContaining('Java 11'),
  })
})

test('without Maven and jars, the error lists every alternative', async () => {
  const { PATH } = process.env
  onTestFinished(() => {
    process.env.PATH = PATH
  })
  const cache = await temporaryFolder()
  process.env.PATH = cache
  const missing = await kafkaJars(cache, () => {}).catch((error) => error)
  expect(missing).toMatchObject({ code: 'maven_missing' })
  for (const way of waysOut) expect(missing.message).toContain(way)
})

test('existing jars are found without Maven', async () => {
  const { PATH } = process.env
  onTestFinished(() => {
    process.env.PATH = PATH
  })
  const cache = await temporaryFolder()
  process.env.PATH = cache
  await mkdir(join(cache, 'kafka-4.3.1'))
  expect(await kafkaJars(cache, () => {})).toBe(join(cache, 'kafka-4.3.1'))
})

test('versions are parsed in old and new style', () => {
  expect(majorVersion('openjdk version "17.0.15" 2025-04-15')).toBe(17)
  expect(majorVersion('java version "1.8.0_292"')).toBe(8)
  expect(majorVersion('openjdk version "25" 2025-09-16')).toBe(25)
  expect(majorVersion('No Java runtime present')).toBeUndefined()
})
