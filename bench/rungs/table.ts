import { verdict } from '../figures/goals.ts'
import { markdownTable } from '../figures/stats.ts'
import { MB } from '../stack/process.ts'
import type { Lateness } from './lateness.ts'

/** `written`: records into the short rung. `rss`: the deliverer's highest, in bytes. `cpuShare`: of a core. */
export type Phase = { mark: string; written: number; rss: number; cpuShare: number }

export function report(
  phases: readonly Phase[],
  { backlog, perSecond, lateness }: { backlog: number; perSecond: number; lateness: Lateness },
): string {
  const rows = phases.map(({ mark, written, rss, cpuShare }) => {
    const late = lateness.get(mark)
    const ms = (percentile: number) => String((late?.percentile(percentile) ?? Number.NaN) - 1)
    return [
      `${mark} the backlog`,
      `${late?.count ?? 0} of ${written}`,
      ...[ms(50), `**${ms(99)}**`, ms(100)],
      ...[(rss / MB).toFixed(0), `${(cpuShare * 100).toFixed(0)} %`],
    ]
  })
  return `${perSecond} failed deliveries of 1 KB a second into the rung of 5 s, each with its time; from that time to when the broker had it in \`deliveries.due\`. The
deliverer, as \`npm start\` runs it, also attempts what is due; the receiver answers at once. Then the same with ${backlog.toLocaleString('en-US')} deliveries in the
rung of 60 min, written at once. All processes share two cores as the system places them.

${markdownTable(
  ['', 'due', 'late p50, ms', 'p99, ms', 'longest, ms', "deliverer's RSS, MB", 'its CPU, of a core'],
  [...rows, ['goal', '', '', '<= 250', '', '', '']],
)}

${verdict(phases.map(({ mark }) => ({ what: `p99 in ms ${mark} the backlog`, is: (lateness.get(mark)?.percentile(99) ?? Number.NaN) - 1, atMost: 250 })))}`
}
