import { createHash } from 'node:crypto'
import { EVERY_SOURCE, type Suppression } from './settings.ts'

export type Users = Pick<ReadonlySet<string>, 'has'>

/** The same parts always make the same id, which matches `idShape`. */
export const hashedId = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)

export const isHashedId = (id: string): boolean => /^[0-9a-f]{32}$/.test(id)

export const suppressionId = ({ sourceId, userId }: Pick<Suppression, 'sourceId' | 'userId'>) =>
  hashedId([sourceId, userId])

/** The cost of a change does not depend on the number of users, which may be hundreds of thousands. */
export function createSuppressed() {
  const suppressions = new Map<string, Suppression>()
  const bySource = new Map<string, Set<string>>()
  /** Ids of unreadable suppressions. */
  const unread = new Set<string>()

  function set(id: string, suppression: Suppression | undefined): void {
    remove(id)
    unread.delete(id)
    if (!suppression) return
    suppressions.set(id, suppression)
    const { sourceId, userId } = suppression
    const users = bySource.get(sourceId)
    if (users) users.add(userId)
    else bySource.set(sourceId, new Set([userId]))
  }

  function remove(id: string): void {
    const old = suppressions.get(id)
    if (!old) return
    suppressions.delete(id)
    const users = bySource.get(old.sourceId)
    users?.delete(old.userId)
    if (users?.size === 0) bySource.delete(old.sourceId)
  }

  function suppressedUsers(sourceId: string): Users | undefined {
    const known = knownUsers(sourceId)
    if (unread.size === 0) return known
    // the id identifies the user even if the record cannot be read
    const isUnread = (userId: string) =>
      unread.has(suppressionId({ sourceId, userId })) ||
      unread.has(suppressionId({ sourceId: EVERY_SOURCE, userId }))
    return { has: (userId) => known?.has(userId) || isUnread(userId) }
  }

  function knownUsers(sourceId: string): Users | undefined {
    const everywhere = bySource.get(EVERY_SOURCE)
    const here = bySource.get(sourceId)
    if (!everywhere || !here) return everywhere ?? here
    return { has: (userId) => everywhere.has(userId) || here.has(userId) }
  }

  return { set, setUnread: (id: string) => void unread.add(id), suppressions, suppressedUsers }
}
