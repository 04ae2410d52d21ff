import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { LocalFault } from './fault.ts'
import { isAlive, processFacts } from './process-facts.ts'

export type Lock = { release(): Promise<void> }

const holder = z.object({ pid: z.number(), started: z.string() })

/**
 * One `npm start` per data folder. A lock whose process is gone is taken over, also when another process has its pid now.
 * @throws LocalFault already_running
 */
export async function takeLock(folder: string): Promise<Lock> {
  const path = join(folder, 'lock')
  const own = `${path}.${process.pid}`
  await writeFile(
    own,
    JSON.stringify({ pid: process.pid, started: processFacts(process.pid)?.started ?? '' }),
  )
  try {
    // a link appears with its content, and fails when there is one
    while (!(await link(own, path).then(() => true, isTaken))) await clearStale(path, folder)
  } finally {
    await rm(own, { force: true })
  }
  return { release: () => rm(path, { force: true }) }
}

function isTaken(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'EEXIST') return false
  throw error
}

/** Moves the lock away before removing it: what was moved tells whether somebody else has taken it over just now. */
async function clearStale(path: string, folder: string): Promise<void> {
  await refuseLiving(path, folder)
  const moved = `${path}.stale.${process.pid}`
  await rename(path, moved).catch(() => {}) // another one was faster
  try {
    await refuseLiving(moved, folder)
  } catch (fault) {
    await link(moved, path).catch(() => {})
    throw fault
  } finally {
    await rm(moved, { force: true })
  }
}

async function refuseLiving(path: string, folder: string): Promise<void> {
  const found = parse(await readFile(path, 'utf8').catch(() => ''))
  if (!found.success || !isAlive(found.data.pid, found.data.started)) return
  throw new LocalFault(
    'already_running',
    `npm start already runs on ${folder} (pid ${found.data.pid}).\nStop that one, or set SLUICE_DATA to another folder for a second one.`,
  )
}

function parse(text: string) {
  try {
    return holder.safeParse(JSON.parse(text))
  } catch {
    return holder.safeParse(undefined)
  }
}
