import { ATTEMPTS, EVENTS, REJECTED, SEEN } from '../../../schemas/topics.ts'
import type { Report } from '../lag/follow.ts'
import { blockedGroups } from '../lag/observe.ts'
import type { LagItem } from '../lag/status.ts'
import { none, type Problem, type ProblemCode, type Severity } from './problem.ts'

/** `now`: ms since 1970. `windowMs`: how far back a status looks. */
export function ofReport(
  { missing, items }: Report,
  { now, windowMs }: { now: number; windowMs: number },
): Problem[] {
  const groups = [...Map.groupBy(items, ({ group }) => group)]
  return [
    ...missing.map((topic) => topicMissing(topic, now)),
    ...groups.flatMap(([group, partitions]) => ofGroup(group, partitions, now - windowMs)),
  ]
}

/** No delivery depends on these topics (docs/decisions/023-topics-apart.md). */
const APART: readonly string[] = [ATTEMPTS, REJECTED, SEEN]

function topicMissing(topic: string, since: number): Problem {
  const isApart = APART.includes(topic)
  const effect = effectOfTopic(topic, isApart)
  return {
    ...none,
    code: 'topic_missing',
    severity: isApart ? 'warning' : 'error',
    subject: `topic ${topic}`,
    message: `Kafka has no topic ${topic}. ${effect}`,
    action:
      'If you have a copy of its records, restore them first. Otherwise restart any Sluice process: it creates the topic.',
    since,
    page: '/lag',
    runbook: 'sluicetopicmissing',
  }
}

function effectOfTopic(topic: string, isApart: boolean): string {
  if (topic === EVENTS) return 'Calls are refused (503), and nothing is forwarded.'
  if (isApart) return 'Deliveries continue, but its records are dropped.'
  const [reader] = blockedGroups([topic])
  return reader ? effectOf(reader.group) : 'Processes that read or write it wait.'
}

type Trouble = { code: ProblemCode; severity: Severity; what: string; runbook: string }

const TROUBLES: Partial<Record<LagItem['status'], Trouble>> = {
  stop: {
    code: 'group_stopped',
    severity: 'error',
    what: 'has no responding process for',
    runbook: 'sluicenothingconsumes',
  },
  stall: {
    code: 'group_stalled',
    severity: 'error',
    what: 'makes no progress in',
    runbook: 'sluicenothingconsumes',
  },
  rewind: {
    code: 'group_rewound',
    severity: 'warning',
    what: 'was set back to an earlier offset in',
    runbook: 'sluicerewound',
  },
}
const WORST_FIRST = ['stop', 'stall', 'rewind'] as const

/** Only the worst trouble. Stopped and stalled partitions count together: neither makes progress. */
function ofGroup(group: string, partitions: readonly LagItem[], since: number): Problem[] {
  const status = WORST_FIRST.find((one) => partitions.some((partition) => partition.status === one))
  const trouble = status && TROUBLES[status]
  if (!trouble) return []
  const { what, ...rest } = trouble
  const counted = status === 'rewind' ? ['rewind'] : ['stop', 'stall']
  const troubled = partitions.filter((partition) => counted.includes(partition.status))
  const all = status === 'rewind' ? 'all its partitions' : 'any of its partitions'
  const share =
    troubled.length < partitions.length ? `${troubled.length} of its ${partitions.length} partitions` : all
  const effect = status === 'rewind' ? 'Receivers may get these events again.' : effectOf(group)
  const message = `Consumer group ${group} ${what} ${share}: ${waiting(troubled)}. ${effect}`
  const process = processOf(group)
  const action = {
    stop: `Start the ${process}. If it runs, read its log, and restart it if it hangs.`,
    stall: `Read the log of the ${process}, and check Kafka and the schema registry. If the process hangs, restart it.`,
    rewind: 'Find out who reset the offsets of this group.',
  }[status]
  return [{ ...none, ...rest, subject: `group ${group}`, message, action, since, page: '/lag', group }]
}

function waiting(items: readonly LagItem[]): string {
  const records = items.reduce((sum, { lag }) => sum + lag, 0)
  const oldest = Math.max(...items.map(({ lagSeconds }) => lagSeconds ?? 0))
  const age = oldest > 0 ? `, the oldest for ${Math.round(oldest).toLocaleString('en-US')} s` : ''
  return `${records.toLocaleString('en-US')} ${records === 1 ? 'record waits' : 'records wait'}${age}`
}

const EFFECTS: Record<string, string> = {
  router: 'Accepted events are not forwarded.',
  deliverer: 'New deliveries are not sent.',
  'deliverer.due': 'Retries and replayed deliveries are not sent.',
  'deliverer.rungs': 'Deliveries on the retry ladder are not sent when they are due.',
  'control.tasks': 'Deletions, syncs and replays do not proceed.',
}
const effectOf = (group: string) => EFFECTS[group] ?? 'This replay does not proceed.'

/** Groups are named after their process; control runs the replays. */
const processOf = (group: string) =>
  ['router', 'deliverer'].find((process) => group.split('.')[0] === process) ?? 'control process'
