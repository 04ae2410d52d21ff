import type { Role } from '../../settings/config-key.ts'

/** One of two instances of a role gets the other version. */
export type Replacement = { role: Role; copy: 0 | 1 }

/** Between the two, both versions run side by side for a while. */
export type Roll = { first: readonly Replacement[]; second: readonly Replacement[] }

const of = (role: Role, copy: 0 | 1): Replacement => ({ role, copy })

/** As ops/README.md says: one control first, as it registers new schemas, and the other one last. */
export const UPGRADE: Roll = {
  first: [of('control', 0), of('ingest', 0), of('router', 0), of('deliverer', 0)],
  second: [of('ingest', 1), of('router', 1), of('deliverer', 1), of('control', 1)],
}

export const BACK: Roll = { first: UPGRADE.second.toReversed(), second: UPGRADE.first.toReversed() }

/** In ms of `performance.now()`. */
export type Span = { from: number; to: number }

export type Replaced = Replacement & Span

/** From the stop of the first deliverer until the second is ready: both versions may run. */
export function mixedDeliverers(replaced: readonly Replaced[]): Span {
  const spans = replaced.filter(({ role }) => role === 'deliverer')
  return { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) }
}

/** Longer than a group needs to settle after a replacement. */
const REBALANCE_MS = 10_000

/** The times in which no process was replaced and no group rebalanced. */
export function calmSpans(replaced: readonly Span[], end: number): Span[] {
  const sorted = replaced.toSorted((one, other) => one.from - other.from)
  const starts = [0, ...sorted.map(({ to }) => to + REBALANCE_MS)]
  const ends = [...sorted.map(({ from }) => from), end]
  return starts.flatMap((from, index) => {
    const to = ends[index] ?? end
    return from < to ? { from, to } : []
  })
}
