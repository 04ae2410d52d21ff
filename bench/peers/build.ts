import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../../local/kafka/downloads.ts'

export type Peer = {
  name: string
  repository: string
  commit: string
  /** What the build needs of the repository. */
  paths: readonly string[]
  /** Puts programs into `folder`. */
  build(source: string, folder: string): void | Promise<void>
}

/**
 * Builds a peer once, from GitHub or from the clone that `OUTPOST_SOURCE`, `SVIX_SOURCE` or `CONVOY_SOURCE` names.
 * @returns the programs' folder
 */
export async function buildPeer({ name, repository, commit, paths, build }: Peer): Promise<string> {
  const folder = join(await cacheFolder(process.env), `${name.toLowerCase()}-${commit.slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const building = `${folder}.building`
  await rm(building, { recursive: true, force: true })
  await mkdir(building, { recursive: true })
  const source = join(building, 'source')
  process.stderr.write(`building ${name} (first run only)\n`)
  const origin = process.env[`${name.toUpperCase()}_SOURCE`] ?? repository
  execFileSync('git', ['clone', '--quiet', '--no-checkout', origin, source])
  execFileSync('git', ['-C', source, 'checkout', '--quiet', commit, '--', ...paths])
  await build(source, building)
  await rm(source, { recursive: true })
  await rename(building, folder)
  return folder
}
