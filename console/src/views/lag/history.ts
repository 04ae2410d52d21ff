import type { components, paths } from '../../api/client/schema.ts'
import type { Line } from '../../ui/chart/plot.ts'
import { groupsOf, type LagItem } from './consumer-groups.ts'

type Moment = paths['/api/lag/hour']['get']['responses'][200]['content']['application/json']['items'][number]
/** `at`: ISO 8601. */
export type LagSnapshot = {
  items: readonly LagItem[]
  faults: readonly components['schemas']['LogFault'][]
  missing: readonly string[]
  blocked: readonly { group: string; topic: string }[]
  at: string
}

export type Unit = 'seconds' | 'records'
type Sums = Record<Unit, number | null>
export type LagMoment = { at: string; groups: ReadonlyMap<string, Sums> }

/** 20 minutes, at one snapshot every 2 s. */
const MAX_MOMENTS = 600

/** Skips the last snapshot if a reconnected stream repeats it. */
export function withSnapshot(
  history: readonly LagMoment[],
  { items, at }: Pick<LagSnapshot, 'items' | 'at'>,
): readonly LagMoment[] {
  if (history.at(-1)?.at === at) return history
  const groups = new Map(
    groupsOf(items).map(({ group, seconds, records }): [string, Sums] => [group, { seconds, records }]),
  )
  return [...history, { at, groups }].slice(-MAX_MOMENTS)
}

export function historyOf(hour: readonly Moment[], live: readonly LagMoment[]): readonly LagMoment[] {
  const [first] = live
  const before = hour.flatMap(({ at, groups }): LagMoment[] => {
    if (at === null || (first && at >= first.at)) return []
    const sums = groups.map(({ group, lag, lagSeconds }): [string, Sums] => [
      group,
      { records: lag, seconds: lagSeconds },
    ])
    return [{ at, groups: new Map(sums) }]
  })
  return [...before, ...live]
}

const COLORS = ['water', 'blue', 'orange', 'grape', 'gray', 'red'] as const

export function series(history: readonly LagMoment[], unit: Unit): { times: string[]; lines: Line[] } {
  const names = [...(history.at(-1)?.groups.keys() ?? [])]
  return {
    times: history.map(({ at }) => at),
    lines: names.map((label, index) => ({
      label,
      color: COLORS[index % COLORS.length] ?? 'gray',
      values: history.map(({ groups }) => groups.get(label)?.[unit] ?? null),
    })),
  }
}
