import { LOW_FACTOR, type Room } from '../../../kafka/admin/storage.ts'
import { ATTEMPTS, EVENTS, REJECTED, SEEN } from '../../../schemas/topics.ts'
import type { Kind } from '../../../settings/settings.ts'
import type { Unreadable } from '../../../settings/state.ts'
import { STALE_MS } from '../following.ts'
import type { Report } from '../lag/follow.ts'
import type { LogFaultItem } from '../lag/log-faults.ts'
import { blockedGroups } from '../lag/observe.ts'
import type { LagItem } from '../lag/status.ts'

export const PROBLEM_CODES = [
  'kafka_unreachable',
  'settings_outdated',
  'topic_missing',
  'group_stopped',
  'group_stalled',
  'storage_full',
  'group_rewound',
  'setting_unreadable',
  'storage_low',
  'records_lost',
] as const
export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** `error`: calls are refused, or events do not move. `warning`: everything moves, but someone should look. */
export const SEVERITIES = ['error', 'warning'] as const
export type Severity = (typeof SEVERITIES)[number]

/**
 * Something that is wrong right now. `subject` identifies the problem for as long as it lasts, even if its code changes.
 * `since`: ms since 1970. `page`: path of the console's page that shows more. `runbook`: the section of ops/runbook.md.
 */
export type Problem = {
  code: ProblemCode
  severity: Severity
  subject: string
  message: string
  action: string
  since: number
  page: string | null
  runbook: string
  group: string | null
  setting: { kind: Kind; id: string; isKept: boolean } | null
}

/** What control knows of the system at `now` (ms since 1970). */
export type SystemFacts = {
  now: number
  /** The last observation of the consumer groups; undefined if it is too old. */
  report: Report | undefined
  /** A group's status depends on the observations of this time. */
  windowMs: number
  /** How long ago Kafka last answered about the groups. */
  silentMs: number
  /** How long control's settings have been behind topic config; 0 if they are current. */
  settingsBehindMs: number
  shortage: Room | undefined
  rooms: readonly Room[]
  faults: readonly LogFaultItem[]
  unreadable: Iterable<Unreadable>
}

/** Kafka counts as away after this time if control reads neither lag nor settings, or after `STALE_MS` if only lag is missing. */
const OUTAGE_MS = 10_000
/** A loss is no longer a problem after this time. The Lag page shows it for a week. */
const LOST_MS = 3_600_000

/** The current problems of the system, worst first. */
export function problemsOf(facts: SystemFacts): Problem[] {
  const { settingsBehindMs, silentMs, now } = facts
  const isAway = silentMs >= (settingsBehindMs >= OUTAGE_MS ? OUTAGE_MS : STALE_MS)
  const problems = [
    ...(isAway ? [kafkaUnreachable(now - silentMs)] : []),
    ...(!isAway && settingsBehindMs >= OUTAGE_MS ? [settingsOutdated(now - settingsBehindMs)] : []),
    ...(facts.report && !isAway ? ofReport(facts.report, facts) : []),
    ...ofStorage(facts),
    ...unreadableSettings([...facts.unreadable], now),
    ...lostRecords(facts),
  ]
  return problems.toSorted((one, other) => rankOf(one) - rankOf(other))
}

const rankOf = ({ severity, code }: Problem) =>
  SEVERITIES.indexOf(severity) * PROBLEM_CODES.length + PROBLEM_CODES.indexOf(code)

const none = { page: null, group: null, setting: null } as const

const kafkaUnreachable = (since: number): Problem => ({
  ...none,
  code: 'kafka_unreachable',
  severity: 'error',
  subject: 'kafka',
  message: 'Kafka does not answer control. Whether events are forwarded is unknown.',
  action:
    "Check the brokers, and the network between them and Sluice. Control's log has the error. When Kafka is back, Sluice continues by itself.",
  since,
  page: '/lag',
  runbook: 'sluicelagunknown',
})

const settingsOutdated = (since: number): Problem => ({
  ...none,
  code: 'settings_outdated',
  severity: 'error',
  subject: 'settings',
  message:
    'Control cannot follow topic config. The settings that it shows may be out of date, and changes fail.',
  action: "Read control's log, and check the leader of topic config.",
  since,
  runbook: 'sluicekafkastalled',
})

function ofReport({ missing, items }: Report, { now, windowMs }: SystemFacts): Problem[] {
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
    what: 'has no process that responds',
    runbook: 'sluicenothingconsumes',
  },
  stall: {
    code: 'group_stalled',
    severity: 'error',
    what: 'makes no progress',
    runbook: 'sluicenothingconsumes',
  },
  rewind: {
    code: 'group_rewound',
    severity: 'warning',
    what: 'was set back to an earlier offset',
    runbook: 'sluicerewound',
  },
}
const WORST_FIRST = ['stop', 'stall', 'rewind'] as const

/** One problem for a group: the worst of its partitions. */
function ofGroup(group: string, partitions: readonly LagItem[], since: number): Problem[] {
  const status = WORST_FIRST.find((one) => partitions.some((partition) => partition.status === one))
  const trouble = status && TROUBLES[status]
  if (!trouble) return []
  const { what, ...rest } = trouble
  const troubled = partitions.filter((partition) => partition.status in TROUBLES)
  const share =
    troubled.length < partitions.length ? `${troubled.length} of its ${partitions.length}` : 'all its'
  const effect = status === 'rewind' ? 'Receivers may get these events again.' : effectOf(group)
  const message = `In ${share} partitions, consumer group ${group} ${what}: ${waiting(troubled)}. ${effect}`
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

/** Groups are named after their process; control also runs the replays. */
const processOf = (group: string) =>
  ['router', 'deliverer'].find((process) => group.split('.')[0] === process) ?? 'control process'

const MB = 1024 ** 2

function ofStorage({ shortage, rooms, now }: SystemFacts): Problem[] {
  if (shortage) return [ofRoom(shortage, now, true)]
  const low = rooms.find(({ free, reserve }) => free < reserve * LOW_FACTOR)
  return low ? [ofRoom(low, now, false)] : []
}

function ofRoom({ of, free, reserve }: Room, since: number, isFull: boolean): Problem {
  const [where, todo] =
    of === 'disk'
      ? ["Kafka's disk", 'Make room on the disk.']
      : ["Sluice's share of the disk (STORAGE_LIMIT)", 'Raise the limit, or shorten the retention of topics.']
  const left = `${where} has ${Math.floor(free / MB)} MB left`
  const needed = `${Math.ceil(reserve / MB)} MB`
  return {
    ...none,
    code: isFull ? 'storage_full' : 'storage_low',
    severity: isFull ? 'error' : 'warning',
    subject: `storage ${of}`,
    message: isFull
      ? `${left}, and ${needed} are needed. Calls are refused (503) until there is space again.`
      : `${left}. Below ${needed}, calls are refused.`,
    action: todo,
    since,
    runbook: isFull ? 'sluicestoragefull' : 'sluicestoragelow',
  }
}

/** Limits the list: with a wrong `CONFIG_KEY`, every setting is unreadable. */
const MAX_SETTINGS = 100

function unreadableSettings(unreadable: readonly Unreadable[], now: number): Problem[] {
  const more = unreadable.length - MAX_SETTINGS
  const listed = unreadable.slice(0, MAX_SETTINGS).map(unreadableSetting)
  if (more <= 0) return listed
  const others: Problem = {
    ...none,
    code: 'setting_unreadable',
    severity: 'warning',
    subject: 'other settings',
    message: `${more.toLocaleString('en-US')} more settings cannot be read.`,
    action: "Check CONFIG_KEY, and control's log.",
    since: Math.min(...listed.map(({ since }) => since), now),
    runbook: 'sluicesettingunreadable',
  }
  return [...listed, others]
}

function unreadableSetting({ kind, id, reason, isKept, since }: Unreadable): Problem {
  const goingOn = isKept ? 'Sluice uses its previous version.' : 'Sluice ignores it.'
  const hasView = isKept && (kind === 'source' || kind === 'destination')
  return {
    ...none,
    code: 'setting_unreadable',
    severity: 'warning',
    subject: `${kind}/${id}`,
    message: `The settings of ${kind} ${id} cannot be read: ${reason}. ${goingOn}`,
    action: 'Save it again, or delete it.',
    since,
    page: kind === 'suppression' ? null : `/${kind}s${hasView ? `/${encodeURIComponent(id)}` : ''}`,
    runbook: 'sluicesettingunreadable',
    setting: { kind, id, isKept },
  }
}

/** One problem for each topic, from the first loss of the last hour. */
function lostRecords({ faults, now }: SystemFacts): Problem[] {
  const timed = faults.map((fault) => ({ ...fault, time: Date.parse(fault.at ?? '') }))
  const recent = timed.filter(({ time }) => now - time < LOST_MS)
  return [...Map.groupBy(recent, ({ topic }) => topic)].map(([topic, losses]) => {
    const sum = (field: 'lost' | 'unread') => losses.reduce((total, loss) => total + loss[field], 0)
    const causes = [...new Set(losses.map(({ cause }) => cause))].join(', ')
    return {
      ...none,
      code: 'records_lost',
      severity: 'warning',
      subject: `lost ${topic}`,
      message: `Kafka has lost ${sum('lost')} records of topic ${topic} (${causes}), ${sum('unread')} of them unread. Sluice continues after them.`,
      action: 'Find out why, and whether clients must send these calls again.',
      since: Math.min(...losses.map(({ time }) => time)),
      page: '/lag',
      runbook: 'sluicelogfault',
    }
  })
}
