import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from '../stack/process.ts'
import { median, spreadOfCounts } from './stats.ts'

/** What processes measured in turn, each running while the others are stopped, have one after the other. */
export type Figures = {
  perSecond: number
  perCpuSecond: number
  /** Connections opened for each 1,000 POSTs. */
  openedPerThousand: number
}

/** Of several rounds: work a second, work per CPU-second, and microseconds of CPU for each. */
export function cells(rounds: readonly Figures[]): string[] {
  const perCpuSecond = rounds.map((round) => round.perCpuSecond)
  return [
    spreadOfCounts(rounds.map(({ perSecond }) => perSecond)),
    spreadOfCounts(perCpuSecond),
    (1e6 / median(perCpuSecond)).toFixed(1),
  ]
}

/** Until what stood still is under way again. */
const LEAD_MS = 300

export type Poster = { name: string; pid: number }
/** `since`: what came since the last time. */
export type Counter = { since(): Promise<{ requests: number; opened: number }> }

/** Lets a stopped process run for a while; @returns what was counted of it. */
export async function takeTurn({ name, pid }: Poster, counter: Counter, forMs: number): Promise<Figures> {
  process.kill(pid, 'SIGCONT')
  await sleep(LEAD_MS)
  await counter.since()
  const [cpu, start] = [await cpuSeconds(pid), performance.now()]
  await sleep(forMs)
  const { requests, opened } = await counter.since()
  const [seconds, used] = [(performance.now() - start) / 1_000, (await cpuSeconds(pid)) - cpu]
  process.kill(pid, 'SIGSTOP')
  if (requests === 0) throw new Error(`${name} has sent nothing: its backlog may have come to an end`)
  process.stderr.write(
    `${name}: ${Math.round(requests / seconds)}/s, ${((used / requests) * 1e6).toFixed(1)} us, core ${((used / seconds) * 100).toFixed(0)} %\n`,
  )
  return {
    perSecond: requests / seconds,
    perCpuSecond: requests / used,
    openedPerThousand: (opened / requests) * 1_000,
  }
}
