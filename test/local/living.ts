import { execFileSync } from 'node:child_process'
import { processFacts } from '../../local/process-facts.ts'

/** Whether any of the pids is a living process. */
export const anyLives = (pids: readonly number[]) => pids.some((pid) => processFacts(pid) !== undefined)

/** Pids of the children of a process, as `ps` sees them. */
export function childrenOf(parent: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []))
}
