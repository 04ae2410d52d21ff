import type { Connection } from '../kafka/client.ts'
import { createIndex, partsOf, type Setting } from './lookup.ts'
import { readSetting, type Unread } from './read.ts'
import type { ConfigKeys } from './seal.ts'
import { KINDS, type Kind } from './settings.ts'

/**
 * `reason` holds no secrets or user ids. `since`: when this process first saw it, in ms since 1970. `isKept`: the
 * process uses the previous version; otherwise it has none. Without readable rules, events become dead letters
 * (lookup.ts).
 */
export type Unreadable = { kind: Kind; id: string; reason: string; since: number; isKept: boolean }

type StateOptions = { keys: ConfigKeys; kinds: readonly Kind[]; log: Connection['log'] }
export type Index = ReturnType<typeof createIndex>

/** If a record cannot be read, the last good version stays in force. */
export function createState({ keys, kinds, log }: StateOptions) {
  const index = createIndex()
  const unreadable = createUnreadable(log)
  const versions = createLastVersions()
  let isSupposing = false

  /** @returns why it cannot be read. */
  function apply(key: string, value: Buffer | undefined): Unread | undefined {
    const read = value && readSetting(key, value, { keys, kinds })
    if (read && 'unread' in read) {
      applyLastGood(key, read)
      return read
    }
    index.set(key, read)
    if (!isSupposing) unreadable.remove(key)
    return undefined
  }

  function applyLastGood(key: string, { reason, outline }: Unread): void {
    const good = unreadable.all.has(key) ? unreadable.lastGood(key) : index.get(key)
    index.set(key, good)
    index.setUnread(key, outline)
    if (!isSupposing) unreadable.add(key, reason, good)
  }

  /** Call it before the removal is applied. @param last the removed record. */
  function removed(key: string, last: Buffer): void {
    // a suppression never changes, and there may be very many
    if (partsOf(key).kind === 'suppression') return
    const version = (index.get(key) ?? goodOf(readSetting(key, last, { keys, kinds })))?.value.version
    if (version !== undefined) versions.add(key, version, isSupposing)
  }

  /** Reports no changes: those of `work` are undone afterwards. */
  function supposing<T>(work: () => T): T {
    isSupposing = true
    try {
      return work()
    } finally {
      isSupposing = false
      versions.forgetSupposed()
    }
  }

  return {
    index,
    unreadable: unreadable.all,
    countUnreadable: unreadable.count,
    apply,
    removed,
    lastVersion: versions.of,
    supposing,
  }
}

/** Settings that cannot be read, and their last readable versions, which are used instead. */
function createUnreadable(log: Connection['log']) {
  const all = new Map<string, Unreadable>()
  /** Counted as they change, because there may be very many. */
  const counts = new Map<Kind, number>()
  const lastGood = new Map<string, Setting | undefined>()

  function change(key: string, by: 1 | -1): void {
    const { kind } = partsOf(key)
    counts.set(kind, count(kind) + by)
  }

  const count = (kind: Kind): number => counts.get(kind) ?? 0

  return {
    all,
    count,
    lastGood: (key: string) => lastGood.get(key),
    /** @param good undefined: nothing is used. */
    add(key: string, reason: string, good: Setting | undefined): void {
      const before = all.get(key)
      lastGood.set(key, good)
      if (!before) change(key, 1)
      const isKept = good !== undefined
      all.set(key, { ...partsOf(key), reason, since: before?.since ?? Date.now(), isKept })
      const goingOn = isKept ? 'its previous version stays in use' : 'it is ignored'
      log.error({ setting: key, reason }, `a setting cannot be read: ${goingOn}`)
    },
    remove(key: string): void {
      if (!all.delete(key)) return
      change(key, -1)
      lastGood.delete(key)
      log.info({ setting: key }, 'a setting can be read again, or was removed')
    },
  }
}

const MAX_LAST_VERSIONS = 10_000

/** The last versions of removed settings, latest removal last. */
function createLastVersions() {
  const known = new Map<string, number>()
  const supposed = new Map<string, number>()
  return {
    of: (key: string): number | undefined => supposed.get(key) ?? known.get(key),
    add(key: string, version: number, isSupposed: boolean): void {
      const versions = isSupposed ? supposed : known
      versions.delete(key)
      versions.set(key, version)
      const [oldest = ''] = versions.keys()
      if (versions.size > MAX_LAST_VERSIONS) versions.delete(oldest)
    },
    forgetSupposed: () => supposed.clear(),
  }
}

const goodOf = (read: Setting | Unread | undefined) => (read && 'unread' in read ? undefined : read)

/** Control accepts ids of 64 characters. With 100 forged keys of 1 MB, its status took 15 s, and then failed. */
const MAX_KEY = 200

/** Warns once about each kind that this version does not know, and about keys that are too long. */
export function kindFilter(kinds: readonly Kind[], log: Connection['log']): (key: string) => boolean {
  const unknownKinds = new Set<string>()
  let hasLongKey = false
  return (key) => {
    if (key.length > MAX_KEY) {
      if (!hasLongKey)
        log.warn({ setting: key.slice(0, MAX_KEY) }, 'ignoring settings whose keys are too long')
      hasLongKey = true
      return false
    }
    if (kinds.some((kind) => key.startsWith(`${kind}/`))) return true
    const kind = key.split('/', 1)[0] ?? ''
    if (KINDS.some((known) => known === kind) || unknownKinds.has(kind)) return false
    unknownKinds.add(kind)
    log.warn({ kind, setting: key }, 'ignoring settings of a kind that this version does not know')
    return false
  }
}
