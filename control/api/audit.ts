import type { Logger } from '../../process/log.ts'
import type { Kind } from '../../settings/settings.ts'
import type { Changes } from '../settings/changes.ts'
import type { Caller } from './auth/tokens.ts'

/** What somebody has done, or may have done: a change, or a search for a user. Counts of users, never their ids. */
export type Audited = {
  what: Kind | 'deletion' | 'sync' | 'replay' | 'test' | 'session' | 'search'
  /** `unavailable`: Kafka has not said whether it was made. */
  outcome: 'created' | 'replaced' | 'removed' | 'uploaded' | 'cancelled' | 'sent' | 'searched' | 'unavailable'
  id?: string | undefined
  version?: number | undefined
  changes?: Changes | undefined
  [more: string]: unknown
}

/** The one line of it. It has no secrets: whoever reads logs need not be one who may see settings. */
export function audit(
  log: Pick<Logger, 'info'>,
  { who, by, address, session }: Caller,
  audited: Audited,
): void {
  log.info(
    { audit: true, who, by, address, ...(session && { session: session.id }), ...audited },
    audited.what === 'search' ? 'search' : 'change',
  )
}
