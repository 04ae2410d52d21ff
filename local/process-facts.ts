import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** What the operating system says about a living process; `started` tells two processes apart that had the same pid. */
export type ProcessFacts = { pid: number; parent: number; started: string; command: string }

/** Undefined when there is no such process, or only its remains (a zombie). */
export function processFacts(pid: number): ProcessFacts | undefined {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
}

export function isAlive(pid: number, started: string): boolean {
  return processFacts(pid)?.started === started
}

function fromProc(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    return parseStat(pid, stat, command)
  } catch {
    return undefined // gone, perhaps between the two reads
  }
}

/** Fields 3, 4 and 22 of proc_pid_stat(5). The second one, the name, may hold spaces and brackets. */
export function parseStat(pid: number, stat: string, command: string): ProcessFacts | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parent, started] = [fields[0], fields[1], fields[19]]
  if (!state || !parent || !started || state === 'Z' || state === 'X') return undefined
  return { pid, parent: Number(parent), started, command }
}

function fromPs(pid: number): ProcessFacts | undefined {
  try {
    const columns = ['-o', 'stat=', '-o', 'ppid=', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)]
    return parsePs(
      pid,
      execFileSync('ps', columns, { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } }),
    )
  } catch {
    return undefined // ps ends with 1 when there is no such process
  }
}

/** For example `S+   412 Fri Nov 21 07:00:01 2025     node main.ts`: lstart is five words. */
export function parsePs(pid: number, output: string): ProcessFacts | undefined {
  const [state, parent, ...words] = output.trim().split(/\s+/)
  if (!state || !parent || state.startsWith('Z')) return undefined
  return {
    pid,
    parent: Number(parent),
    started: words.slice(0, 5).join(' '),
    command: words.slice(5).join(' '),
  }
}
