import type { Logger } from '../log.ts'
import type { Kind } from '../schemas/settings.ts'
import type { Caller } from './auth.ts'
import type { Changes } from './settings/changes.ts'

/** A change that somebody has made, or may have made. Counts of users, never their ids. */
export type Audited = {
  what: Kind | 'deletion' | 'sync' | 'replay' | 'test' | 'session'
  /** `unavailable`: Kafka has not said whether it was made. */
  outcome: 'created' | 'replaced' | 'removed' | 'uploaded' | 'cancelled' | 'sent' | 'unavailable'
  id?: string | undefined
  version?: number | undefined
  changes?: Changes | undefined
  [more: string]: unknown
}

/** The one line of a change. It has no secrets: whoever reads logs need not be one who may see settings. */
export function audit(log: Pick<Logger, 'info'>, { who, by }: Caller, audited: Audited): void {
  log.info({ audit: true, who, by, ...audited }, 'change')
}
