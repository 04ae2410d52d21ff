import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from '../stack/machine.ts'
import { median, spreadOfCounts } from './summary.ts'

/** Figures of a process, measured while its competitors were paused. */
export type Figures = {
  perSecond: number
  perCpuSecond: number
  /** Connections per 1,000 POSTs. */
  openedPerThousand: number
}

/** Requests per second, requests per CPU-second, us of CPU per request. */
export function cells(rounds: readonly Figures[]): string[] {
  const perCpuSecond = rounds.map((round) => round.perCpuSecond)
  return [
    spreadOfCounts(rounds.map(({ perSecond }) => perSecond)),
    spreadOfCounts(perCpuSecond),
    (1e6 / median(perCpuSecond)).toFixed(1),
  ]
}

/** Until a resumed process is at full speed: the router first waits for current settings (IDLE_WAIT_MS). */
const LEAD_MS = 1_200

export type Poster = { name: string; pid: number }
/** `since`: the counts since the last call. */
export type Counter = { since(): Promise<{ requests: number; opened: number }> }

/** Resumes a paused process for a while. @returns the counts of that time */
export async function runAlone({ name, pid }: Poster, counter: Counter, forMs: number): Promise<Figures> {
  process.kill(pid, 'SIGCONT')
  await sleep(LEAD_MS)
  await counter.since()
  const [cpu, start] = [await cpuSeconds(pid), performance.now()]
  await sleep(forMs)
  const { requests, opened } = await counter.since()
  const [seconds, used] = [(performance.now() - start) / 1_000, (await cpuSeconds(pid)) - cpu]
  process.kill(pid, 'SIGSTOP')
  if (requests === 0) throw new Error(`${name} has sent nothing: its backlog may be used up`)
  process.stderr.write(
    `${name}: ${Math.round(requests / seconds)}/s, ${((used / requests) * 1e6).toFixed(1)} us, core ${((used / seconds) * 100).toFixed(0)} %\n`,
  )
  return {
    perSecond: requests / seconds,
    perCpuSecond: requests / used,
    openedPerThousand: (opened / requests) * 1_000,
  }
}
