import type { Role } from '../../settings/config-key.ts'

/** One of two instances of a role, which gets the other version. */
export type Replacement = { role: Role; copy: 0 | 1 }

/** `first` is replaced, both versions run side by side for a while, then `second` is replaced. */
export type Roll = { first: readonly Replacement[]; second: readonly Replacement[] }

const of = (role: Role, copy: 0 | 1): Replacement => ({ role, copy })

/** As ops/README.md says: one control first, because it registers new schemas. The other control comes last. */
export const UPGRADE: Roll = {
  first: [of('control', 0), of('ingest', 0), of('router', 0), of('deliverer', 0)],
  second: [of('ingest', 1), of('router', 1), of('deliverer', 1), of('control', 1)],
}

/** Goes back in the reverse order. */
export const BACK: Roll = { first: UPGRADE.second.toReversed(), second: UPGRADE.first.toReversed() }

/** A part of the run, in ms of `performance.now()`. */
export type Span = { from: number; to: number }

/** A replacement that was made, with its time. */
export type Replaced = Replacement & Span

/**
 * @returns the time in which deliverers of both versions may have run: from the stop of the first until the second is
 * ready. Before it all are of one version, after it all of the other.
 */
export function mixedDeliverers(replaced: readonly Replaced[]): Span {
  const spans = replaced.filter(({ role }) => role === 'deliverer')
  return { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) }
}

/** Longer than a group needs to settle after a member was replaced. */
const REBALANCE_MS = 10_000

/** @returns the times in which no process was replaced and no group rebalanced. */
export function calmSpans(replaced: readonly Span[], end: number): Span[] {
  const sorted = replaced.toSorted((one, other) => one.from - other.from)
  const starts = [0, ...sorted.map(({ to }) => to + REBALANCE_MS)]
  const ends = [...sorted.map(({ from }) => from), end]
  return starts.flatMap((from, index) => {
    const to = ends[index] ?? end
    return from < to ? { from, to } : []
  })
}
