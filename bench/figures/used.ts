import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, machineSeconds, rssBytes } from '../stack/process.ts'

/** What something took: of time and of a process's CPU in seconds, of its memory at most in bytes, and the share of the machine's cores that was idle. */
export type Used = { seconds: number; cpu: number; rss: number; idleShare: number }

const EVERY_MS = 100

/** @returns what came of the work, and what it took. */
export async function used<T>(pid: number, work: () => Promise<T>): Promise<Used & { came: T }> {
  const [cpu, machine, start] = [await cpuSeconds(pid), machineSeconds(), performance.now()]
  const stopping = new AbortController()
  const sampling = highest(pid, stopping.signal)
  const came = await work().finally(() => stopping.abort())
  const now = machineSeconds()
  return {
    came,
    seconds: (performance.now() - start) / 1_000,
    cpu: (await cpuSeconds(pid)) - cpu,
    rss: await sampling,
    idleShare: (now.idle - machine.idle) / (now.all - machine.all),
  }
}

/** @returns the highest resident memory until it is stopped. */
async function highest(pid: number, stopped: AbortSignal): Promise<number> {
  let rss = 0
  while (!stopped.aborted) {
    rss = Math.max(rss, await rssBytes(pid))
    await sleep(EVERY_MS)
  }
  return rss
}
