import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LocalFault } from './fault.ts'
import { WAYS_OUT } from './java.ts'
import { spawnTied } from './tied.ts'

export type MavenRun = {
  goal: 'copy-dependencies' | 'copy'
  args: readonly string[]
  cwd: string
  /** Where the files go; nothing else is in it but folders. */
  folder: string
  /** Megabytes that came down so far. */
  onProgress: (megabytes: number) => void
}

/** Newer ones want the parent POM of what they copy, and the registry's is not on Maven Central. Runs on Maven 3.8 to 4.0. */
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8'

/**
 * Fetches files and checks them against `maven.sha512`. Not in batch mode, whose output has no progress.
 * @throws LocalFault maven_missing, download_failed, checksum_wrong
 */
export async function runMaven({ goal, args, cwd, folder, onProgress }: MavenRun): Promise<void> {
  const errors: string[] = []
  let finished = 0
  const onLine = (line: string) => {
    // Progress overwrites itself with carriage returns, which readline takes for line ends
    const done = /^Downloaded from .*\(([\d.]+) (kB|MB)/.exec(line)
    if (done) finished += megabytes(done[1], done[2])
    const underWay = [...(/^Progress/.test(line) ? line.matchAll(/([\d.]+)(?:\/[\d.]+)? (kB|MB)/g) : [])]
    if (done || underWay.length > 0)
      onProgress(finished + sum(underWay.map((part) => megabytes(part[1], part[2]))))
    if (line.includes('ERROR') || /not found/.test(line)) errors.push(line)
  }
  const { code } = await spawnTied('mvn', {
    args: ['-Dstyle.color=never', `${PLUGIN}:${goal}`, `-DoutputDirectory=${folder}`, ...args],
    cwd,
    onLine,
  }).exited
  if (code === 0) return checkSums(folder)
  if (code === 127)
    throw new LocalFault('maven_missing', `Maven (mvn) is missing; it fetches Kafka once.\n${WAYS_OUT}`)
  throw new LocalFault(
    'download_failed',
    `Maven failed (exit code ${code}):\n${errors.slice(0, 5).join('\n')}\n${WAYS_OUT}`,
  )
}

const PINS = new URL('maven.sha512', import.meta.url)

/** @throws LocalFault checksum_wrong: a file is not the one that is pinned, or none is pinned by its name. */
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
      ? `has the SHA-512 ${sum}, which is not the pinned one`
      : 'has no pinned SHA-512'
    throw new LocalFault(
      'checksum_wrong',
      `${file.name}, fetched by Maven, ${fault} (local/maven.sha512). It is not used. If a mirror or Maven's own cache (~/.m2) holds a damaged copy, remove that and start again.`,
    )
  }
}

const megabytes = (amount = '0', unit = 'MB') => Number(amount) / (unit === 'kB' ? 1000 : 1)
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)
