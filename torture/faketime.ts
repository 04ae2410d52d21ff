import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The build for programs with threads, as Node is one. */
const LIBRARY = 'libfaketimeMT.so.1'

/** Debian's and Ubuntu's by Node's name of the processor; then Fedora's and SUSE's, Arch's and Alpine's, and what is built by hand. */
const MULTIARCH: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }
const FOLDERS = ['/usr/lib64/faketime', '/usr/lib/faketime', '/usr/local/lib/faketime'] as const

export type Machine = {
  platform: string
  arch: string
  exists: (path: string) => boolean
}

export const thisMachine: Machine = { platform: process.platform, arch: process.arch, exists: existsSync }

/** @returns where libfaketime is; undefined where it is not. On Linux alone: others preload in ways of their own. */
export function findFaketime({ platform, arch, exists }: Machine): string | undefined {
  if (platform !== 'linux') return undefined
  const multiarch = MULTIARCH[arch]
  const folders = [...(multiarch ? [`/usr/lib/${multiarch}/faketime`] : []), ...FOLDERS]
  return folders.map((folder) => join(folder, LIBRARY)).find(exists)
}

/** A wall clock of processes, which can be set while they run. */
export type Clock = {
  /** What a process gets that goes by it. */
  env: Readonly<Record<string, string>>
  /** Noticed within a second or two. @param seconds from the right time; below 0 it is behind. */
  set(seconds: number): Promise<void>
}

/** @param file to be made: it holds how far off the clock is. */
export async function openClock(library: string, file: string): Promise<Clock> {
  async function set(seconds: number): Promise<void> {
    // a process that reads half a line would end
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    await rename(`${file}.new`, file)
  }
  await set(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      // the file is read once a second; without, whenever somebody asks for the time
      FAKETIME_CACHE_DURATION: '0',
      // as with a real step: timers and waits go on as they were
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
      // known to 0.9.11 and later
      FAKETIME_DISABLE_SHM: '1',
    },
    set,
  }
}

/** Removes what older libraries leave of a process that has ended: a later one of the same id could not start. */
export async function removeShared(pid: number): Promise<void> {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
    await rm(join('/dev/shm', name), { force: true })
}
