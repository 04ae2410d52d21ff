import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { compareVersions } from '../../.ci/release/plan.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { say } from '../program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Settings are signed since the version that has this file. */
const SIGNED = 'docs/decisions/025-signed-settings.md'

/** The version to upgrade from: a commit, or a folder with its packages. */
export type Earlier = { name: string } & ({ commit: string } | { folder: string })

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** Undefined if git fails. */
function tryGit(...args: string[]): string | undefined {
  try {
    return git(...args)
  } catch {
    return undefined
  }
}

/** Such as `v1.2.0`. Release candidates do not count. */
export const newestRelease = (tags: readonly string[]): string | undefined =>
  tags
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
    .toSorted((one, other) => compareVersions(one.slice(1), other.slice(1)))
    .at(-1)

/** Whether two package-lock.json name the same packages. The version of Sluice itself does not count. */
export function samePackages(one: string, other: string): boolean {
  const packagesOf = (text: string): object => {
    const { packages } = JSON.parse(text)
    return { ...packages, '': { ...packages[''], version: undefined } }
  }
  return isDeepStrictEqual(packagesOf(one), packagesOf(other))
}

/**
 * @param from a commit, a tag or a folder. Default: the newest release before this commit. @throws if it cannot be used
 */
export function findEarlier(from: string | undefined): Earlier {
  const chosen = from ?? newestTag()
  const found = isFolder(chosen) ? folderOf(chosen) : commitOf(chosen)
  if (!('folder' in found ? existsSync(join(found.folder, SIGNED)) : has(found.commit, SIGNED)))
    throw new Error(
      `${chosen} does not sign settings: its routers and deliverers cannot be in one consumer group with these, and ops/README.md has another order for it; name a later version`,
    )
  return found
}

function newestTag(): string {
  // a tag at this commit is the version about to be released
  const tags = tryGit('tag', '--merged', 'HEAD', '--no-contains', 'HEAD')
  const tag = newestRelease(tags?.split('\n') ?? [])
  if (tag === undefined)
    throw new Error(
      'no tag of this history names a release: give --from a commit, or a folder with its packages',
    )
  return tag
}

const isFolder = (from: string) => existsSync(from) && statSync(from).isDirectory()

const has = (commit: string, path: string) => tryGit('cat-file', '-e', `${commit}:${path}`) !== undefined

function folderOf(from: string): Earlier {
  const folder = resolve(from)
  if (!existsSync(join(folder, 'deliverer/main.ts'))) throw new Error(`${from} is not a checkout of Sluice`)
  if (!existsSync(join(folder, 'node_modules'))) throw new Error(`${from} has no packages: run npm ci there`)
  return { name: from, folder }
}

function commitOf(from: string): Earlier {
  const commit = tryGit('rev-parse', '--verify', '--quiet', '--end-of-options', `${from}^{commit}`)
  if (!commit) throw new Error(`--from takes a commit, a tag or a folder, and not '${from}'`)
  return { name: from, commit }
}

/** The folder is removed when this process exits. */
export async function checkOut(earlier: Earlier): Promise<string> {
  if ('folder' in earlier) return earlier.folder
  const folder = join(await scratchFolder('upgrade'), 'earlier')
  process.prependOnceListener('exit', () => void tryGit('worktree', 'remove', '--force', folder))
  git('worktree', 'add', '--detach', folder, earlier.commit)
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (samePackages(lock(folder), lock(ROOT)))
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  else {
    say(`${earlier.name} has other packages: npm ci`)
    const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund']
    execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return folder
}
