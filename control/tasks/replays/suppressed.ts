import { createSecretKey } from 'node:crypto'
import { hashOf } from '../../../rules/redact.ts'
import type { Settings } from '../../../settings/follow.ts'
import { EVERY_SOURCE } from '../../../settings/settings.ts'

type Suppressions = Pick<Settings, 'destinations' | 'suppressedUsers' | 'suppressions'>
type Subject = { type: string; sourceId: string }

/** Users who were suppressed later get only their deletion. */
export const isSuppressed = (
  { type, sourceId, userId }: Subject & { userId: string | null },
  settings: Pick<Suppressions, 'suppressedUsers'>,
) => type !== 'delete' && (settings.suppressedUsers(sourceId)?.has(userId ?? '') ?? false)

/** Hashing 300,000 users takes a fraction of a second. */
const KEPT_MS = 10_000

type Hashed = { size: number; hashKey: string; at: number; users: ReadonlySet<string> }

/**
 * Decides whether the user in a record's key is suppressed. Rules that redact the user put a hash in the key, so suppressed
 * users are hashed the same way, at most every 10 s.
 */
export function suppressedKeys(
  destinationId: string,
  settings: Suppressions,
): (subject: Subject, user: string) => boolean {
  const bySource = new Map<string, Hashed>()

  function hashedUsers(sourceId: string, hashKey: string): ReadonlySet<string> {
    const { size } = settings.suppressions
    const now = performance.now()
    const before = bySource.get(sourceId)
    const isKept = before && (before.size === size || now - before.at < KEPT_MS)
    if (isKept && before.hashKey === hashKey) return before.users
    const key = createSecretKey(Buffer.from(hashKey))
    const users = new Set<string>()
    for (const each of settings.suppressions.values())
      if (each.sourceId === sourceId || each.sourceId === EVERY_SOURCE) users.add(hashOf(key, each.userId))
    bySource.set(sourceId, { size, hashKey, at: now, users })
    return users
  }

  return (subject, user) => {
    if (isSuppressed({ ...subject, userId: user }, settings)) return true
    const hashKey = settings.destinations.get(destinationId)?.hashKey
    if (subject.type === 'delete' || hashKey === undefined || settings.suppressions.size === 0) return false
    return hashedUsers(subject.sourceId, hashKey).has(user)
  }
}
