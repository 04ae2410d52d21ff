import { LOW_FACTOR, type Room } from '../../../kafka/admin/storage.ts'
import type { Unreadable } from '../../../settings/state.ts'
import type { Report } from '../lag/follow.ts'
import type { LogFaultItem } from '../lag/log-faults.ts'
import { STALE_MS } from '../records/following.ts'
import { ofReport } from './group-problems.ts'
import { none, PROBLEM_CODES, type Problem, SEVERITIES } from './problem.ts'

/** `now`: ms since 1970. */
export type SystemFacts = {
  now: number
  /** Undefined if the last observation is too old. */
  report: Report | undefined
  windowMs: number
  silentMs: number
  /** How long control has been behind topic config; 0 if it is current. */
  settingsBehindMs: number
  shortage: Room | undefined
  rooms: readonly Room[]
  faults: readonly LogFaultItem[]
  unreadable: Iterable<Unreadable>
}

/** Kafka counts as away after this time without lag and settings, or after `STALE_MS` without lag. */
const OUTAGE_MS = 10_000
/** The Lag page shows losses for a week. */
const LOST_MS = 3_600_000

/** Worst first. */
export function problemsOf(facts: SystemFacts): Problem[] {
  const { settingsBehindMs, silentMs, now } = facts
  const isAway = silentMs >= (settingsBehindMs >= OUTAGE_MS ? OUTAGE_MS : STALE_MS)
  const problems = [
    ...(isAway ? [kafkaUnreachable(now - silentMs)] : []),
    ...(!isAway && settingsBehindMs >= OUTAGE_MS ? [settingsOutdated(now - settingsBehindMs)] : []),
    ...(facts.report && !isAway ? ofReport(facts.report, facts).filter(isOwnProblem(facts)) : []),
    ...ofStorage(facts),
    ...unreadableSettings([...facts.unreadable], now),
    ...lostRecords(facts),
  ]
  return problems.toSorted((one, other) => rankOf(one) - rankOf(other))
}

const rankOf = ({ severity, code }: Problem) =>
  SEVERITIES.indexOf(severity) * PROBLEM_CODES.length + PROBLEM_CODES.indexOf(code)

/** While Kafka is short of storage, retries wait on purpose. Only the shortage is then a problem. */
const isOwnProblem =
  ({ shortage }: Pick<SystemFacts, 'shortage'>) =>
  ({ code, group }: Problem): boolean =>
    !(shortage && code === 'group_stalled' && group === 'deliverer.rungs')

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
      ? `${left}, and ${needed} are needed. Calls are refused (503) and retries wait until there is space again.`
      : `${left}. Below ${needed}, calls are refused and retries wait.`,
    action: todo,
    since,
    runbook: isFull ? 'sluicestoragefull' : 'sluicestoragelow',
  }
}

/** With a wrong `CONFIG_KEY`, every setting is unreadable. */
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
    message: `${more.toLocaleString('en-US')} more ${more === 1 ? 'setting' : 'settings'} cannot be read.`,
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

/** One problem for each topic, since its first loss in the last hour. */
function lostRecords({ faults, now }: SystemFacts): Problem[] {
  const timed = faults.map((fault) => ({ ...fault, time: Date.parse(fault.at ?? '') }))
  const recent = timed.filter(({ time }) => now - time < LOST_MS)
  return [...Map.groupBy(recent, ({ topic }) => topic)].map(([topic, losses]) => {
    const sum = (field: 'lost' | 'unread') => losses.reduce((total, loss) => total + loss[field], 0)
    const lost = sum('lost')
    const causes = [...new Set(losses.map(({ cause }) => cause))].join(', ')
    return {
      ...none,
      code: 'records_lost',
      severity: 'warning',
      subject: `lost ${topic}`,
      message: `Kafka has lost ${lost} ${lost === 1 ? 'record' : 'records'} of topic ${topic} (${causes}), ${sum('unread')} unread. Sluice continues after them.`,
      action: 'Find out why, and whether clients must send these calls again.',
      since: Math.min(...losses.map(({ time }) => time)),
      page: '/lag',
      runbook: 'sluicelogfault',
    }
  })
}
