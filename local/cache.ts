import { access, constants, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LocalFault } from './fault.ts'

const BESIDE_THE_CODE = fileURLToPath(new URL('../node_modules/.cache/sluice', import.meta.url))

/** The folder that downloads are kept in, outside the checkout where that can be written. @throws LocalFault */
export async function cacheFolder(env: NodeJS.ProcessEnv): Promise<string> {
  const candidates = [join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice'), BESIDE_THE_CODE]
  for (const folder of candidates) if (await isWritable(folder)) return folder
  throw new LocalFault(
    'cache_not_writable',
    `Neither of these can be written: ${candidates.join(', ')}. Set XDG_CACHE_HOME.`,
  )
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * The folder `target`, filled by `fill` when it is not there yet. It appears whole or not at all, since it is filled under
 * another name; of two that fill it at the same time the first wins and both end well. What killed ones have left goes in any case.
 */
export async function whole(target: string, fill: (folder: string) => Promise<void>): Promise<string> {
  await removeLeftovers(target)
  if (await exists(target)) return target
  const partial = await mkdtemp(`${target}.part-`)
  try {
    await fill(partial)
    await rename(partial, target)
  } catch (error) {
    await remove(partial)
    if (!(await exists(target))) throw error
  }
  return target
}

const LEFTOVER_AGE_MS = 60 * 60_000

/** Folders whose filling was killed, told by age from those under way. One that cannot be removed is in nobody's way. */
async function removeLeftovers(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    const path = join(dirname(target), name)
    if (!name.startsWith(`${basename(target)}.part-`)) continue
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) await remove(path).catch(() => undefined)
  }
}

const remove = (path: string) => rm(path, { recursive: true, force: true })

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
