import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, machineSeconds, rssBytes } from '../stack/process.ts'

/**
 * `cpu`: seconds of one process. `rss`: its highest resident memory in bytes. `idleShare`: share of the machine's
 * cores.
 */
export type Use = { seconds: number; cpu: number; rss: number; idleShare: number }

const EVERY_MS = 100

/** @returns the result of the work, and the process's resource use meanwhile. */
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

/** @returns the highest resident memory until `stopped`. */
async function highest(pid: number, stopped: AbortSignal): Promise<number> {
  let rss = 0
  while (!stopped.aborted) {
    rss = Math.max(rss, await rssBytes(pid))
    await sleep(EVERY_MS)
  }
  return rss
}
