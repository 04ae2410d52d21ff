import { existsSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The multi-threaded build, as Node has threads. */
const LIBRARY = 'libfaketimeMT.so.1'

/** By Node's name of the processor, on Debian and Ubuntu. Below: Fedora and SUSE, Arch and Alpine, manual builds. */
const MULTIARCH: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }
const FOLDERS = ['/usr/lib64/faketime', '/usr/lib/faketime', '/usr/local/lib/faketime'] as const

export type Machine = {
  platform: string
  arch: string
  exists: (path: string) => boolean
}

export const thisMachine: Machine = { platform: process.platform, arch: process.arch, exists: existsSync }

/** Linux only: other systems preload libraries differently. */
export function findFaketime({ platform, arch, exists }: Machine): string | undefined {
  if (platform !== 'linux') return undefined
  const multiarch = MULTIARCH[arch]
  const folders = [...(multiarch ? [`/usr/lib/${multiarch}/faketime`] : []), ...FOLDERS]
  return folders.map((folder) => join(folder, LIBRARY)).find(exists)
}

/** The wall clock of some processes. */
export type Clock = {
  /** For a process that uses this clock. */
  env: Readonly<Record<string, string>>
  /** Takes a second or two. @param seconds offset from the real time */
  set(seconds: number): Promise<void>
}

/** @param file created here; holds the offset */
export async function openClock(library: string, file: string): Promise<Clock> {
  async function set(seconds: number): Promise<void> {
    // a process that reads half a line would exit
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    await rename(`${file}.new`, file)
  }
  await set(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      // reads the file once a second, even if nothing asks for the time
      FAKETIME_CACHE_DURATION: '0',
      // as with a real clock step, timers and waits are not affected
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
      // since 0.9.11
      FAKETIME_DISABLE_SHM: '1',
    },
    set,
  }
}

/** Older libraries leave these behind: a later process with the same pid could not start. */
export async function removeShared(pid: number): Promise<void> {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
    await rm(join('/dev/shm', name), { force: true })
}
