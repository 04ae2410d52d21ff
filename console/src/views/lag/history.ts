import type { components, paths } from '../../api/schema.ts'
import type { Line } from '../../ui/chart/plot.ts'
import { groupsOf, type LagItem } from './consumer-groups.ts'

type Moment = paths['/api/lag/hour']['get']['responses'][200]['content']['application/json']['items'][number]
/** `at`: ISO 8601. */
export type Look = {
  items: readonly LagItem[]
  faults: readonly components['schemas']['LogFault'][]
  at: string
}

export type Unit = 'seconds' | 'records'
type Sums = Record<Unit, number | null>
/** How far each group was behind. Of what is past nobody asks for partitions. */
export type Past = { at: string; groups: ReadonlyMap<string, Sums> }

/** 20 minutes of looks, one every 2 s. */
const MOST = 600

/** Oldest first. A stream that comes again may tell the last look again. */
export function withLook(past: readonly Past[], { items, at }: Pick<Look, 'items' | 'at'>): readonly Past[] {
  if (past.at(-1)?.at === at) return past
  const groups = new Map(
    groupsOf(items).map(({ group, seconds, records }): [string, Sums] => [group, { seconds, records }]),
  )
  return [...past, { at, groups }].slice(-MOST)
}

/** What control tells of the last hour, and then what was told since. */
export function pastOf(hour: readonly Moment[], told: readonly Past[]): readonly Past[] {
  const [first] = told
  const before = hour.flatMap(({ at, groups }): Past[] => {
    if (at === null || (first && at >= first.at)) return []
    const sums = groups.map(({ group, lag, lagSeconds }): [string, Sums] => [
      group,
      { records: lag, seconds: lagSeconds },
    ])
    return [{ at, groups: new Map(sums) }]
  })
  return [...before, ...told]
}

const COLORS = ['water', 'blue', 'orange', 'grape', 'gray', 'red'] as const

/** A line for each group that there is now. */
export function series(past: readonly Past[], unit: Unit): { times: string[]; lines: Line[] } {
  const names = [...(past.at(-1)?.groups.keys() ?? [])]
  return {
    times: past.map(({ at }) => at),
    lines: names.map((label, index) => ({
      label,
      color: COLORS[index % COLORS.length] ?? 'gray',
      values: past.map(({ groups }) => groups.get(label)?.[unit] ?? null),
    })),
  }
}
