import type { Outcome } from './outcome.ts'
import { MB } from './process.ts'
import { markdownTable } from './stats.ts'

/** Resident memory of a minute, in bytes. */
export type Sample = { deliverer: number; router: number; ingest: number }

export function report(samples: readonly Sample[], { windows, toRungs, delivererUs }: Outcome): string {
  const rows = samples.map(({ deliverer, router, ingest }, index) => {
    const { inTime = 0, due = 0, p99Ms = Number.NaN } = windows[index] ?? {}
    const megabytes = [deliverer, router, ingest].map((bytes) => (bytes / MB).toFixed(0))
    return [String(index + 1), ...megabytes, `${((inTime / due) * 100).toFixed(1)} %`, p99Ms.toFixed(1)]
  })
  const head = ['minute', 'deliverer, MB', 'router, MB', 'ingest, MB', 'in time', 'p99 ms']
  const of = samples.map(({ deliverer }) => deliverer)
  const growth = (of.at(-1) ?? 0) / (of[1] ?? Number.NaN)
  const highest = Math.max(...of) / MB
  return `${markdownTable(head, rows)}

The deliverer in the last minute: **${growth.toFixed(2)}** times that of minute 2 (goal <= 1.10), at most **${highest.toFixed(0)} MB** (goal <= 256). It took
${delivererUs.toFixed(0)} us of CPU for each call, and ${toRungs.toLocaleString('en-US')} records went to rungs.`
}
