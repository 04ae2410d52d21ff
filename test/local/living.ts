import { execFileSync } from 'node:child_process'
import { processFacts } from '../../local/process-facts.ts'

/** Whether any of the pids is a living process. */
export const anyLives = (pids: readonly number[]) => pids.some((pid) => processFacts(pid) !== undefined)

/** Their children's, and so on, too. */
export const descendantsOf = (pid: number): number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

/** What ends a program with the process that started it, and leaves when the program has ended (tied.ts). */
export const isWatcher = (pid: number): boolean => processFacts(pid)?.command.includes('read -r _') === true

/** On a machine's first start some of what `npm start` starts does, for a while. */
export const makesArchive = (pid: number): boolean =>
  processFacts(pid)?.command.includes('-Xshare:dump') === true

/** Pids of the children of a process, as `ps` sees them. */
export function childrenOf(parent: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []))
}
