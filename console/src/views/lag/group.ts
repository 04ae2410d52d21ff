import type { components } from '../../api/schema.ts'

export type LagItem = components['schemas']['Lag']
type Status = LagItem['status']

/** A topic that a group reads, all partitions together. */
export type TopicLag = {
  topic: string
  records: number
  seconds: number | null
  status: Status
  partitions: readonly LagItem[]
}

export type GroupLag = {
  group: string
  records: number
  seconds: number | null
  status: Status
  topics: readonly TopicLag[]
}

const WORST_FIRST: readonly Status[] = ['stop', 'stall', 'rewind', 'warn', 'ok']

export function groupsOf(items: readonly LagItem[]): GroupLag[] {
  return [...Map.groupBy(items, ({ group }) => group)]
    .map(([group, its]) => {
      const topics = [...Map.groupBy(its, ({ topic }) => topic)].map(
        ([topic, partitions]): TopicLag => ({ topic, ...together(partitions), partitions }),
      )
      return { group, ...together(its), topics }
    })
    .sort((one, other) => place(one.group) - place(other.group) || (one.group < other.group ? -1 : 1))
}

/** Records add up; of what waits, the longest; of states, the worst. */
function together(items: readonly LagItem[]): Pick<GroupLag, 'records' | 'seconds' | 'status'> {
  const seconds = items.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  return {
    records: items.reduce((sum, { lag }) => sum + lag, 0),
    seconds: seconds.length > 0 ? Math.max(...seconds) : null,
    status: worst(items.map(({ status }) => status)) ?? 'ok',
  }
}

const worst = (statuses: readonly Status[]) => WORST_FIRST.find((status) => statuses.includes(status))

export const worstOf = (groups: readonly GroupLag[]): Status | undefined =>
  worst(groups.map(({ status }) => status))

/** In the order in which an event goes. */
const ORDER = ['router', 'deliverer', 'deliverer.due', 'deliverer.rungs', 'control.tasks']
const place = (group: string) => (ORDER.includes(group) ? ORDER.indexOf(group) : ORDER.length)
