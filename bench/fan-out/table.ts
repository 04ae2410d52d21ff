import { verdict } from '../figures/goals.ts'
import { markdownTable, median, spread, spreadOfCounts } from '../figures/stats.ts'
import type { Figures } from '../figures/turns.ts'
import { MB } from '../stack/process.ts'

/** A number of destinations: its turns, the highest resident memory in bytes, and how many records went to rungs, failed or put off. */
export type Measured = { name: string; turns: Figures[]; rss: number; toRungs: number }

/** The first is what the others are compared with. */
export function report(measured: readonly Measured[], measureMs: number): string {
  const base = measured[0]?.turns ?? []
  const ratios = (turns: readonly Figures[]) => turns.map((turn, round) => us(turn) / us(base[round]))
  const rows = measured.map(({ name, turns, rss, toRungs }, index) => [
    name,
    spreadOfCounts(turns.map(({ perSecond }) => perSecond)),
    spread(turns.map(us), 1),
    index === 0 ? '' : `**${spread(ratios(turns))}**`,
    (rss / MB).toFixed(0),
    median(turns.map(({ openedPerThousand }) => openedPerThousand)).toFixed(1),
    toRungs.toLocaleString('en-US'),
    index === 0 ? '' : '<= 1.10',
  ])
  return `The deliverer, as \`npm start\` runs it, working off a backlog of signed POSTs of 1 KB, spread evenly over its destinations. Each destination is an origin of its own
(an address of 127.0.0.0/8, one receiver behind all of them), in the last row one of ten. A deliverer for each number, of which one runs at a time, on a
core of its own; Kafka and the receiver share the other. Measured is what runs steadily: settings read, connections open. That is the kindest case for
many origins: a destination that gets a call less often than its connection is kept open costs a new connection each time. Not as \`npm start\` has it:
RESPONSE_TIMEOUT is 60s, and the receiver keeps connections open for 300 s, so that those that stand still do not lose theirs. Median of
${base.length} alternating rounds of ${measureMs / 1_000} s, with the lowest and the highest.

${markdownTable(
  [
    'destinations',
    'POSTs/s',
    'us of CPU per POST',
    'ratio',
    'RSS, MB',
    'new connections per 1,000 POSTs',
    'records to rungs',
    'goal',
  ],
  rows,
)}

${verdict(measured.slice(1).map(({ name, turns }) => ({ what: `the ratio at ${name}`, is: median(ratios(turns)), atMost: 1.1 })))}`
}

const us = (turn: Figures | undefined) => 1e6 / (turn?.perCpuSecond ?? Number.NaN)
