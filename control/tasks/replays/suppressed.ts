import { createSecretKey } from 'node:crypto'
import { hashOf } from '../../../rules/redact.ts'
import type { Settings } from '../../../settings/follow.ts'
import { EVERY_SOURCE } from '../../../settings/settings.ts'

type Suppressions = Pick<Settings, 'destinations' | 'suppressedUsers' | 'suppressions'>
type Subject = { type: string; sourceId: string }

/** Users suppressed since get only their deletion. */
export const isSuppressed = (
  { type, sourceId, userId }: Subject & { userId: string | null },
  settings: Pick<Suppressions, 'suppressedUsers'>,
) => type !== 'delete' && (settings.suppressedUsers(sourceId)?.has(userId ?? '') ?? false)

/** Looking through 300,000 users takes about 30 ms. */
const KEPT_MS = 10_000

type Hashed = { at: number; users: ReadonlySet<string> }

/**
 * New suppressions are known after 10 s. Suppressed users are hashed too, because rules that redact the user put a hash
 * in the key.
 * @param clock in ms.
 */
export function suppressedKeys(
  destinationId: string,
  settings: Suppressions,
  clock = () => performance.now(),
): (subject: Subject, user: string) => boolean {
  const bySource = new Map<string, Hashed>()
  let hashes = { hashKey: '', of: rememberedHashes('') }

  function hashedUsers(sourceId: string, hashKey: string): ReadonlySet<string> {
    if (hashKey !== hashes.hashKey) {
      bySource.clear()
      hashes = { hashKey, of: rememberedHashes(hashKey) }
    }
    const before = bySource.get(sourceId)
    if (before && clock() - before.at < KEPT_MS) return before.users
    const users = new Set<string>()
    for (const each of settings.suppressions.values())
      if (each.sourceId === sourceId || each.sourceId === EVERY_SOURCE) users.add(hashes.of(each.userId))
    bySource.set(sourceId, { at: clock(), users })
    return users
  }

  return (subject, user) => {
    if (isSuppressed({ ...subject, userId: user }, settings)) return true
    const hashKey = settings.destinations.get(destinationId)?.hashKey
    if (subject.type === 'delete' || hashKey === undefined || settings.suppressions.size === 0) return false
    return hashedUsers(subject.sourceId, hashKey).has(user)
  }
}

/** Hashes each user once: 300,000 take part of a second. */
function rememberedHashes(hashKey: string): (userId: string) => string {
  const key = createSecretKey(Buffer.from(hashKey))
  const hashes = new Map<string, string>()
  return (userId) => {
    const known = hashes.get(userId)
    if (known !== undefined) return known
    const made = hashOf(key, userId)
    hashes.set(userId, made)
    return made
  }
}
