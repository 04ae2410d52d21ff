import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { LocalError } from './errors.ts'

/** Pids are reused; a pid with its start time is not. */
export const processId = z.object({ pid: z.number(), started: z.string() })
export type ProcessId = z.infer<typeof processId>

export type Lock = { release(): Promise<void> }

/**
 * One `npm start` per data folder. Takes over the lock of a process that is gone, even if its pid is reused.
 * @throws LocalError already_running
 */
export async function takeLock(folder: string): Promise<Lock> {
  const path = join(folder, 'lock')
  const candidate = `${path}.${process.pid}`
  await writeFile(candidate, JSON.stringify(identify(process.pid)))
  try {
    // unlike `open` with `wx`, a link appears together with its content
    while (!(await link(candidate, path).then(() => true, isTaken))) await removeStale(path, folder)
  } finally {
    await rm(candidate, { force: true })
  }
  return { release: () => rm(path, { force: true }) }
}

function isTaken(error: NodeJS.ErrnoException): boolean {
  if (error.code === 'EEXIST') return false
  throw error
}

/** Checks again after the rename: another process may have taken the lock over in between. */
async function removeStale(path: string, folder: string): Promise<void> {
  await refuseIfHeld(path, folder)
  const moved = `${path}.stale.${process.pid}`
  await rename(path, moved).catch(() => {}) // another was faster
  try {
    await refuseIfHeld(moved, folder)
  } catch (error) {
    await link(moved, path).catch(() => {})
    throw error
  } finally {
    await rm(moved, { force: true })
  }
}

async function refuseIfHeld(path: string, folder: string): Promise<void> {
  const holder = await readHolder(path)
  if (!holder || !isAlive(holder)) return
  throw new LocalError(
    'already_running',
    `npm start already runs on ${folder} (pid ${holder.pid}).\nStop it first, or set SLUICE_DATA to use another folder.`,
  )
}

export async function recordOwner(file: string, pid: number): Promise<void> {
  await writeFile(file, JSON.stringify(identify(pid)))
}

/**
 * A broker outlives a killed `npm start` by up to a second. Kafka's own lock is not enough: a
 * second broker writes metadata before it checks the lock (decision 4).
 * @throws LocalError already_running
 */
export async function awaitPreviousOwner(file: string, directory: string, timeoutMs = 3_000): Promise<void> {
  const owner = await readHolder(file)
  if (!owner) return
  for (let waited = 0; isAlive(owner); waited += 50) {
    if (waited >= timeoutMs)
      throw new LocalError('already_running', `A broker (pid ${owner.pid}) still runs on ${directory}.`)
    await sleep(50)
  }
}

async function readHolder(path: string): Promise<ProcessId | undefined> {
  try {
    return processId.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return undefined
  }
}

export function identify(pid: number): ProcessId {
  return { pid, started: startTimeOf(pid) ?? '' }
}

export function isAlive({ pid, started }: ProcessId): boolean {
  return startTimeOf(pid) === started
}

/** In the system's own format. Undefined if there is no such process, or it is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') return startTimeInStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    const options = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } } as const
    return startTimeInPs(execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], options))
  } catch {
    return undefined // no such file, or ps exited with 1
  }
}

/** Field 22 of proc_pid_stat(5). Field 3 is the state. Field 2, the name, may contain spaces and brackets. */
export function startTimeInStat(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, started] = [fields[0], fields[19]]
  return state === 'Z' || state === 'X' ? undefined : started
}

/** For example `S+   Fri Nov 21 07:00:01 2025`. */
export function startTimeInPs(output: string): string | undefined {
  const [state, ...started] = output.trim().split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : started.join(' ')
}
