import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LocalError } from '../errors.ts'
import { spawnChild } from '../processes/child-process.ts'
import { WAYS_OUT } from './java.ts'

export type OnMegabytes = (megabytes: number) => void

export type MavenRun = {
  goal: 'copy-dependencies' | 'copy'
  args: readonly string[]
  cwd: string
  /** Where the files go. Any other file in it fails the check of its sum; folders are ignored. */
  folder: string
  onProgress: OnMegabytes
}

/** Newer plugins need the registry's parent POM, which Maven Central lacks. Works with Maven 3.8 to 4.0. */
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8'

/**
 * Not in batch mode, which prints no progress.
 * @throws LocalError maven_missing, download_failed, checksum_wrong
 */
export async function runMaven({ goal, args, cwd, folder, onProgress }: MavenRun): Promise<void> {
  const errors: string[] = []
  let finished = 0
  const onLine = (line: string) => {
    // progress ends in carriage returns, which readline takes for line ends
    const done = /^Downloaded from .*\(([\d.]+) (kB|MB)/.exec(line)
    if (done) finished += megabytes(done[1], done[2])
    const unfinished = [...(/^Progress/.test(line) ? line.matchAll(/([\d.]+)(?:\/[\d.]+)? (kB|MB)/g) : [])]
    if (done || unfinished.length > 0)
      onProgress(finished + unfinished.reduce((sum, part) => sum + megabytes(part[1], part[2]), 0))
    if (line.includes('ERROR') || /not found/.test(line)) errors.push(line)
  }
  const { code } = await spawnChild('mvn', {
    args: ['-Dstyle.color=never', `${PLUGIN}:${goal}`, `-DoutputDirectory=${folder}`, ...args],
    cwd,
    onLine,
  }).exited
  if (code === 0) return checkSums(folder)
  if (code === 127)
    throw new LocalError(
      'maven_missing',
      `Maven (mvn) is missing; the first start downloads Kafka with it.\n${WAYS_OUT}`,
    )
  throw new LocalError(
    'download_failed',
    `Maven failed (exit code ${code}):\n${errors.slice(0, 5).join('\n')}\n${WAYS_OUT}`,
  )
}

const megabytes = (amount = '0', unit = 'MB') => Number(amount) / (unit === 'kB' ? 1000 : 1)
const PINS = new URL('maven.sha512', import.meta.url)

/** @throws LocalError checksum_wrong if a file's SHA-512 differs from maven.sha512, or is missing there */
export async function checkSums(folder: string, pins: string | URL = PINS): Promise<void> {
  const lines = (await readFile(pins, 'utf8')).split('\n').filter((line) => !line.startsWith('#'))
  const pinned = new Map(lines.map((line) => line.split('  ').toReversed() as [string, string]))
  for (const file of await readdir(folder, { withFileTypes: true })) {
    if (file.isDirectory()) continue
    const sum = createHash('sha512')
      .update(await readFile(join(folder, file.name)))
      .digest('hex')
    if (pinned.get(file.name) === sum) continue
    const fault = pinned.has(file.name)
      ? `has the SHA-512 ${sum}, which differs from the pinned one`
      : 'has no pinned SHA-512'
    throw new LocalError(
      'checksum_wrong',
      `${file.name}, downloaded by Maven, ${fault} (local/kafka/maven.sha512), so it is not used. If a mirror or Maven's cache (~/.m2) has a damaged copy, remove that and start again.`,
    )
  }
}
