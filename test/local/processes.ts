import { execFileSync } from 'node:child_process'
import { startTimeOf } from '../../local/lock.ts'

const ps = (...args: string[]) => execFileSync('ps', args, { encoding: 'utf8' }).trim()

export const anyLives = (pids: readonly number[]) => pids.some((pid) => startTimeOf(pid) !== undefined)

/** Children, grandchildren and so on. */
export const descendantsOf = (pid: number): number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

/** The watcher kills a program when the parent is gone (child-process.ts). */
export const isWatcher = (pid: number): boolean => commandOf(pid).includes('read -r _')

/** On a machine's first start, `npm start` also runs this. */
export const makesArchive = (pid: number): boolean => commandOf(pid).includes('-Xshare:dump')

/** Empty for a process that has ended. */
export function commandOf(pid: number): string {
  try {
    return ps('-o', 'args=', '-p', String(pid))
  } catch {
    return ''
  }
}

export function childrenOf(parent: number): number[] {
  const pairs = ps('-A', '-o', 'pid=,ppid=')
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []))
}
