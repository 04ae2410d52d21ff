import { verdict } from '../figures/goals.ts'
import { markdownTable } from '../figures/stats.ts'
import type { Used } from '../figures/used.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import type { WindowReport } from '../receivers/tally.ts'

/** What fresh deliveries got, and what the deliverer took. */
export type Part = WindowReport & Used & { name: string }

/** `read`: dead letters at the end of the time that the replay should take; `replayed`: in the end. Rates are a second's. */
type Replayed = { letters: number; read: number; replayed: number; live: number; perSecond: number }

const RATIO_OF_P99 = 2

/** The first part is what the others are compared with. */
export function report(
  parts: readonly Part[],
  { letters, read, replayed, live, perSecond }: Replayed,
): string {
  const base = parts[0]?.p99Ms ?? Number.NaN
  const during = (parts[1]?.p99Ms ?? Number.NaN) / base
  const rows = parts.map(({ name, due, inTime, p50Ms, p99Ms, cpu, seconds, idleShare }, index) => [
    name,
    `${((inTime / due) * 100).toFixed(1)} %`,
    p50Ms.toFixed(1),
    `**${p99Ms.toFixed(1)}**`,
    index === 0 ? '' : `**${(p99Ms / base).toFixed(2)}**`,
    `${((cpu / seconds) * 100).toFixed(0)} %`,
    `${(idleShare * 100).toFixed(0)} %`,
    index === 1 ? `<= ${RATIO_OF_P99}` : '',
  ])
  const count = (number: number) => number.toLocaleString('en-US')
  return `${count(live)} track calls of 1 KB a second, at a rate that does not give way, through ingest, router and deliverer to ${ENDPOINTS} healthy endpoints as in \`isolation\`; then
${count(letters)} dead letters of one of their destinations are delivered again meanwhile, ${count(perSecond)} a second, by a replay (\`POST /api/replays\`; 500 unless told). Figures are those of the fresh calls, of
which one in ${ENDPOINTS} goes where the replay goes: from when a call was due to its arrival. All processes, Kafka, load and receiver share two cores as the
system places them; where the machine was hardly idle, it was the limit. ${count(read)} were read when the replay should have been over; ${count(replayed)} were delivered again.

${markdownTable(['', 'in time', 'p50 ms', 'p99 ms', 'ratio', "deliverer's CPU, of a core", 'machine idle', 'goal'], rows)}

${verdict([{ what: 'the ratio of p99 during the replay', is: during, atMost: RATIO_OF_P99 }])}`
}
