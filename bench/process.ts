import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** Linux counts a process's time in hundredths of a second. */
const TICK_SECONDS = 0.01

/** Seconds of CPU, in user and system mode, that a process has used with all its threads. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // the second field is the program's name, in brackets, and may hold spaces
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS
}

/** Keeps a process with all its threads on one core, where the system can. */
export async function pin(pid: number, core: number): Promise<void> {
  await new Promise<void>((resolve) => {
    execFile('taskset', ['-acp', String(core), String(pid)], () => resolve())
  })
}

/** Bytes of a process's memory that are resident. */
export async function rssBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

export type LoadOptions = {
  url: string
  path: string
  writeKey: string
  /** Calls in a request. */
  batch: number
  connections: number
  /** Requests, whatever the answers do; as fast as they are answered when absent. */
  perSecond?: number
}

export type LoadReport = { requests: number; errors: number; p50Ms: number; p99Ms: number }

export type Load = { pid: number; since(): Promise<LoadReport>; stop(): Promise<void> }

/** Starts the load generator in a process of its own; it ends with this one. */
export function startLoad(options: LoadOptions): Load {
  const script = fileURLToPath(new URL('./load.ts', import.meta.url))
  const child = fork(script, [JSON.stringify(options)])
  if (child.pid === undefined) throw new Error('the load generator does not start')
  return {
    pid: child.pid,
    async since() {
      child.send('report')
      // our own script, which sends nothing else
      const [report] = (await once(child, 'message')) as [LoadReport]
      return report
    },
    async stop() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
