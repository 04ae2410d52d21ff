import type { Logger } from '../../process/log.ts'
import type { Kind } from '../../settings/settings.ts'
import type { Changes } from '../settings/changes.ts'
import type { Caller } from './auth/tokens.ts'

/** An audited act: a change, or a search for a user's data. Holds counts of users, never their ids. */
export type Audited = {
  what: Kind | 'deletion' | 'sync' | 'replay' | 'test' | 'session' | 'search'
  /** `unavailable`: Kafka did not confirm, so the change may have been made. */
  outcome: 'created' | 'replaced' | 'removed' | 'uploaded' | 'cancelled' | 'sent' | 'searched' | 'unavailable'
  id?: string | undefined
  version?: number | undefined
  changes?: Changes | undefined
  [more: string]: unknown
}

/** Holds no secrets, because log readers may not be allowed to see settings. */
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
