import { verdict } from '../figures/goals.ts'
import type { Outcome } from '../figures/outcome.ts'
import { markdownTable } from '../figures/stats.ts'
import { MB } from '../stack/process.ts'

/** Resident memory of a minute, in bytes; `ids`: what of the router's are ids against duplicates. */
export type Sample = Record<(typeof PROCESSES)[number] | 'ids', number>

const PROCESSES = ['deliverer', 'router', 'ingest'] as const

export function report(samples: readonly Sample[], { windows, toRungs, delivererUs }: Outcome): string {
  const rows = samples.map((sample, index) => {
    const { inTime = 0, due = 0, p99Ms = Number.NaN } = windows[index] ?? {}
    const megabytes = PROCESSES.map((name) => (sample[name] / MB).toFixed(0))
    const ids = (sample.ids / MB).toFixed(0)
    return [String(index + 1), ...megabytes, ids, `${((inTime / due) * 100).toFixed(1)} %`, p99Ms.toFixed(1)]
  })
  const head = [
    'minute',
    ...PROCESSES.map((name) => `${name}, MB`),
    'ids in the router, MB',
    'in time',
    'p99 ms',
  ]
  const growth = PROCESSES.map((name) => `${name} **${growthOf(samples, name).toFixed(2)}**`)
  const highest = highestOf(samples, 'deliverer') / MB
  return `${markdownTable(head, rows)}

The highest from minute 3 on, in times that of minute 2 (goal <= 1.10): ${growth.join(', ')}. The deliverer had at most **${highest.toFixed(0)} MB** (goal <= 256), took
${delivererUs.toFixed(0)} us of CPU for each call, and wrote ${toRungs.toLocaleString('en-US')} records to rungs.

${verdict([
  ...PROCESSES.map((name) => ({ what: `the growth of ${name}`, is: growthOf(samples, name), atMost: 1.1 })),
  ...PROCESSES.map((name) => ({
    what: `the highest MB of ${name}`,
    is: highestOf(samples, name) / MB,
    atMost: 256,
  })),
])}`
}

/** Minute 2 is the first in which all is at work: breakers have opened, and what was deferred comes back. */
const growthOf = (samples: readonly Sample[], name: keyof Sample) =>
  highestOf(samples.slice(2), name) / (samples[1]?.[name] ?? Number.NaN)

const highestOf = (samples: readonly Sample[], name: keyof Sample) =>
  Math.max(...samples.map((sample) => sample[name]))
