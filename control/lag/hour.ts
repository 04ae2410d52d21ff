import type { LagItem } from './item.ts'

/** How far each group was behind, all partitions together. `at`: ms since 1970. */
export type Moment = { at: number; groups: readonly Sum[] }
/** `lagSeconds`: of the partition that is furthest behind; null: not known of any. */
export type Sum = { group: string; lag: number; lagSeconds: number | null }

export type Hour = {
  /** To be called with each look; one in ten seconds is kept. */
  add(look: { at: number; items: readonly LagItem[] }): void
  /** Oldest first. */
  all(): readonly Moment[]
}

const KEPT_MS = 60 * 60_000
const APART_MS = 10_000

/** The last hour of looks, for who comes to look when something has happened. */
export function createHour(): Hour {
  let moments: readonly Moment[] = []
  return {
    add({ at, items }) {
      // the clock was set back
      const before = moments.filter((moment) => moment.at < at)
      if (before.length > 0 && at - (before.at(-1)?.at ?? at) < APART_MS) return
      moments = [...before.filter((moment) => moment.at > at - KEPT_MS), { at, groups: sumsOf(items) }]
    },
    all: () => moments,
  }
}

function sumsOf(items: readonly LagItem[]): Sum[] {
  return [...Map.groupBy(items, ({ group }) => group)].map(([group, its]) => {
    const seconds = its.flatMap(({ lagSeconds }) => lagSeconds ?? [])
    return {
      group,
      lag: its.reduce((sum, { lag }) => sum + lag, 0),
      lagSeconds: seconds.length > 0 ? Math.max(...seconds) : null,
    }
  })
}
