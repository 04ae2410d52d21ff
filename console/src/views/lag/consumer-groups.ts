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

type Word = { label: string; color: string; says: string }

const STATUSES: Record<LagItem['status'], Word> = {
  ok: { label: 'OK', color: 'green', says: 'It has nothing to do, or keeps up.' },
  warn: {
    label: 'Falling behind',
    color: 'yellow',
    says: 'It works, but is behind by as much or more with each look: too slow, or an endpoint that is. More instances help with the first.',
  },
  stall: {
    label: 'Stalled',
    color: 'red',
    says: 'A consumer is there, but gets nowhere: look at that process’s log, and at Kafka and the registry.',
  },
  stop: {
    label: 'Stopped',
    color: 'red',
    says: 'Nobody works on it, and there is work: is the process up? See its log.',
  },
  rewind: {
    label: 'Turned back',
    color: 'orange',
    says: 'Its offset went back: somebody reset it. What is read again is delivered again.',
  },
}

export const statusOf = (status: LagItem['status']): Word => STATUSES[status]

const GROUPS: Record<string, string> = {
  router: 'Accepted calls that are not yet deliveries',
  deliverer: 'First attempts that are not over',
  'deliverer.due': 'Retries and replayed deliveries that are not over',
  'deliverer.rungs': 'The retry ladder: what waits for its time. Late is only what is past due',
  'control.tasks': 'Deletions, uploads and replays under way',
}

export const groupOf = (group: string): string =>
  GROUPS[group] ?? (group.startsWith('replay.') ? 'What a running replay has still to read' : '')
