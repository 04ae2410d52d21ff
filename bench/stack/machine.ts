import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

/** Linux counts a process's time in hundredths of a second. */
const TICK_SECONDS = 0.01

export const MB = 1024 * 1024

/** User and system time of all threads. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = await fieldsOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS
}

/** With all their descendants. */
export async function familiesOf(pids: readonly number[]): Promise<number[]> {
  const all = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  const parents = new Map(await Promise.all(all.map(async (pid) => [pid, await parentOf(pid)] as const)))
  const isIn = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 0 && (pids.includes(pid) || isIn(parents.get(pid)))
  return all.filter(isIn)
}

/** Undefined when the process has ended. */
const parentOf = (pid: number): Promise<number | undefined> =>
  fieldsOf(pid).then(
    ([, parent]) => Number(parent),
    () => undefined,
  )

/** The fields after the program's name in `/proc/<pid>/stat`, which is in brackets and may contain spaces. */
async function fieldsOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Includes children that have ended. */
export async function secondsOf(pids: readonly number[]): Promise<number> {
  const each = await Promise.all(pids.map((pid) => fieldsOf(pid).catch(() => [])))
  const ticks = each.map((fields) => fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0))
  return ticks.reduce((sum, own) => sum + own, 0) * TICK_SECONDS
}

/** In bytes. Pages that they share count once. */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const pss = async (pid: number) => {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024
  }
  return (await Promise.all(pids.map(pss))).reduce((sum, bytes) => sum + bytes, 0)
}

/** Seconds of all cores since the machine started. */
export function machineSeconds(): { idle: number; all: number } {
  const times = cpus().map(({ times }) => times)
  const sum = (of: readonly number[]) => of.reduce((total, ms) => total + ms, 0) / 1_000
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((each) => Object.values(each))) }
}

/** Pins all threads to one core, if the system can. */
export async function pin(pid: number, core: number): Promise<void> {
  await new Promise<void>((resolve) => {
    execFile('taskset', ['-acp', String(core), String(pid)], () => resolve())
  })
}

/** Resident memory in bytes. */
export async function rssBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

/** The highest resident memory of each process, in bytes. */
export async function highestRss(pids: readonly number[], forMs: number): Promise<number[]> {
  let highest = pids.map(() => 0)
  const end = performance.now() + forMs
  for (; performance.now() < end; await sleep(Math.min(1_000, forMs / 10))) {
    const now = await Promise.all(pids.map(rssBytes))
    highest = highest.map((rss, index) => Math.max(rss, now[index] ?? 0))
  }
  return highest
}

/** `cpu`: seconds of one process. `rss`: its highest resident memory in bytes. `idleShare`: of the machine's cores. */
export type Use = { seconds: number; cpu: number; rss: number; idleShare: number }

const EVERY_MS = 100

/** @returns the result of the work, and the process's use meanwhile */
export async function measureUse<T>(pid: number, work: () => Promise<T>): Promise<Use & { result: T }> {
  const [cpu, machine, start] = [await cpuSeconds(pid), machineSeconds(), performance.now()]
  const stopping = new AbortController()
  const sampling = highest(pid, stopping.signal)
  const result = await work().finally(() => stopping.abort())
  const now = machineSeconds()
  return {
    result,
    seconds: (performance.now() - start) / 1_000,
    cpu: (await cpuSeconds(pid)) - cpu,
    rss: await sampling,
    idleShare: (now.idle - machine.idle) / (now.all - machine.all),
  }
}

/** Resident memory until `stopped`. */
async function highest(pid: number, stopped: AbortSignal): Promise<number> {
  let rss = 0
  while (!stopped.aborted) {
    rss = Math.max(rss, await rssBytes(pid))
    await sleep(EVERY_MS)
  }
  return rss
}

/** Microseconds of a monotonic clock that all processes of this machine share. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3)
}

export const sleepUntil = (us: number) => sleep(Math.max(0, (us - nowUs()) / 1_000))
