import { EVERY_SOURCE, type Suppression } from './settings.ts'

/** Look-up of users by their id. */
export type Users = Pick<ReadonlySet<string>, 'has'>

/** The suppression list, hundreds of thousands of users among it: a change costs the same however many there are. */
export function createSuppressed() {
  const suppressions = new Map<string, Suppression>()
  const bySource = new Map<string, Set<string>>()

  function set(id: string, suppression: Suppression | undefined): void {
    remove(id)
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
    const everywhere = bySource.get(EVERY_SOURCE)
    const here = bySource.get(sourceId)
    if (!everywhere || !here) return everywhere ?? here
    return { has: (userId) => everywhere.has(userId) || here.has(userId) }
  }

  return { set, suppressions, suppressedUsers }
}
