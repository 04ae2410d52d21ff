import type { components } from '../../api/client/schema.ts'

export type LagItem = components['schemas']['Lag']
type Blocked = { group: string; topic: string }
/** `blocked`: the group's topic does not exist. */
type Status = LagItem['status'] | 'blocked'

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

const WORST_FIRST: readonly Status[] = ['blocked', 'stop', 'stall', 'rewind', 'warn', 'ok']

export function groupsOf(items: readonly LagItem[], blocked: readonly Blocked[] = []): GroupLag[] {
  const groups = new Set([...blocked, ...items].map(({ group }) => group))
  return [...groups]
    .map((group) => {
      const groupItems = items.filter((item) => item.group === group)
      const topics = [
        ...blocked.filter((one) => one.group === group).map(({ topic }) => missingTopic(topic)),
        ...[...Map.groupBy(groupItems, ({ topic }) => topic)].map(
          ([topic, partitions]): TopicLag => ({ topic, ...combined(partitions), partitions }),
        ),
      ]
      const status = worst(topics.map((topic) => topic.status)) ?? 'ok'
      return { group, ...combined(groupItems), status, topics }
    })
    .sort((one, other) => position(one.group) - position(other.group) || (one.group < other.group ? -1 : 1))
}

const missingTopic = (topic: string): TopicLag => ({
  topic,
  records: 0,
  seconds: null,
  status: 'blocked',
  partitions: [],
})

function combined(items: readonly LagItem[]): Pick<GroupLag, 'records' | 'seconds' | 'status'> {
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

/** In the order in which events pass the groups. */
const ORDER = ['router', 'deliverer', 'deliverer.due', 'deliverer.rungs', 'control.tasks']
const position = (group: string) => (ORDER.includes(group) ? ORDER.indexOf(group) : ORDER.length)

type StatusLabel = { label: string; color: string; explanation: string }

const STATUSES: Record<Status, StatusLabel> = {
  blocked: {
    label: 'Topic missing',
    color: 'red',
    explanation: 'The topic that the group reads does not exist, so nothing is processed.',
  },
  ok: { label: 'OK', color: 'green', explanation: 'The group keeps up, or has nothing to do.' },
  warn: {
    label: 'Falling behind',
    color: 'yellow',
    explanation:
      'The group makes progress, but its lag does not shrink. Either the process is too slow, and more instances help, or a webhook is.',
  },
  stall: {
    label: 'Stalled',
    color: 'red',
    explanation:
      'A consumer is connected but makes no progress. Check the log of the process, Kafka and the schema registry.',
  },
  stop: {
    label: 'Stopped',
    color: 'red',
    explanation: 'There is work but no consumer. Check that the process is up, and check its log.',
  },
  rewind: {
    label: 'Rewound',
    color: 'orange',
    explanation: 'The offset moved back because someone reset it. The records are delivered again.',
  },
}

export const statusLabel = (status: Status): StatusLabel => STATUSES[status]

const GROUPS: Record<string, string> = {
  router: 'Accepted calls that are not routed yet',
  deliverer: 'First attempts in progress',
  'deliverer.due': 'Retries and replayed deliveries in progress',
  'deliverer.rungs': 'Deliveries that wait for their next attempt. Only overdue ones count as behind',
  'control.tasks': 'Deletions, syncs and replays. 1 record means that none waits',
}

export const groupDescription = (group: string): string =>
  GROUPS[group] ?? (group.startsWith('replay.') ? 'Records that a running replay has yet to read' : '')
