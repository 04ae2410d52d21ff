import type { Kind } from '../../../settings/settings.ts'

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

/** `error`: calls are refused, or events do not move. */
export const SEVERITIES = ['error', 'warning'] as const
export type Severity = (typeof SEVERITIES)[number]

/**
 * `subject`: stays the same while the problem lasts, even if the code changes. `since`: ms since 1970. `page`: a
 * path in the console. `runbook`: a section of ops/runbook.md.
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

/** Fields that most problems lack. */
export const none = { page: null, group: null, setting: null } as const
