import type { Producer } from '../../kafka/produce/produce.ts'
import type { Logger } from '../../process/log.ts'
import { AUDIT } from '../../schemas/topics.ts'
import type { Kind } from '../../settings/settings.ts'
import type { Caller } from './auth/tokens.ts'

/** By JSON pointer. `changed`: the values must not be shown. */
export type Changes = Record<string, { from?: unknown; to?: unknown } | 'changed'>

/** Holds counts of users, never their ids. */
export type Audited = {
  what: Kind | 'deletion' | 'sync' | 'replay' | 'test' | 'session' | 'token' | 'search' | 'backup' | 'restore'
  /**
   * `unavailable`: Kafka did not confirm; the change may have been made.
   * `begun`: of a restore, before it writes; its end is another line.
   * `interrupted`: another change, or a record too large for Kafka, stopped the restore; part of it may have been made.
   */
  outcome:
    | 'created'
    | 'replaced'
    | 'removed'
    | 'uploaded'
    | 'cancelled'
    | 'sent'
    | 'searched'
    | 'downloaded'
    | 'begun'
    | 'restored'
    | 'interrupted'
    | 'unavailable'
  id?: string | undefined
  version?: number | undefined
  changes?: Changes | undefined
  [more: string]: unknown
}

/** Holds no secrets: log readers may not be allowed to see settings. */
export function audit(
  log: Pick<Logger, 'info'>,
  { who, workspaceId, person, by, address, session }: Caller,
  audited: Audited,
): void {
  log.info(
    {
      audit: true,
      who,
      ...(workspaceId !== undefined && { workspaceId }),
      ...(person !== undefined && { person }),
      by,
      address,
      ...(session && { session: session.id }),
      ...audited,
    },
    audited.what === 'search' ? 'search' : 'change',
  )
}

/** Leaves out the person's id. */
export const auditSearch = (log: Pick<Logger, 'info'>, caller: Caller): void =>
  audit(log, caller, { what: 'search', outcome: 'searched' })

/** After this time, the line is only in the log. */
const DEADLINE_MS = 60_000

/**
 * Also writes audit lines to topic `audit`. Does not wait for Kafka: if the process is killed within milliseconds, the
 * line is only in the log.
 * @param onLost called when the topic did not take a line.
 */
export function withAuditTopic(
  log: Logger,
  { produce }: Pick<Producer, 'produce'>,
  onLost: () => void,
): Logger {
  async function write({ audit: _, ...given }: AuditLine): Promise<void> {
    const line = { at: new Date().toISOString(), ...given }
    const send = (sent: object) =>
      produce([{ topic: AUDIT, key: '', value: JSON.stringify(sent) }], { deadlineMs: DEADLINE_MS })
    let outcome = await send(line)
    // padding must not hide a change
    if (outcome === 'too_large') outcome = await send({ ...line, changes: withoutLong(line.changes) })
    if (outcome === 'too_large') outcome = await send({ ...line, changes: undefined })
    if (outcome === 'acked') return
    // with the line: LOG_LEVEL may hide the one at info
    log.warn({ outcome, line }, 'an audit line is only in the log, not in topic audit')
    onLost()
  }

  const child = log.child({})
  const info = child.info.bind(child)
  child.info = (fields: unknown, ...rest: [string?, ...unknown[]]) => {
    info(fields, ...rest)
    if (isAuditLine(fields)) void write(fields)
  }
  return child
}

const MAX_CHANGE = 4_096

/** For an entry that is too large for Kafka. The log has all of it. */
const withoutLong = (changes: Changes = {}): Changes =>
  Object.fromEntries(
    Object.entries(changes).map(([name, change]) => [
      name,
      JSON.stringify(change).length > MAX_CHANGE ? 'changed' : change,
    ]),
  )

type AuditLine = { audit: true; changes?: Changes | undefined }

const isAuditLine = (fields: unknown): fields is AuditLine =>
  typeof fields === 'object' && fields !== null && 'audit' in fields && fields.audit === true
