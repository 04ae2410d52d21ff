import { isDeepStrictEqual } from 'node:util'
import type { Computation, Destination, Kind, Source, Suppression } from './settings.ts'
import { createSuppressed } from './suppression-list.ts'

export type Setting =
  | { kind: 'source'; value: Source }
  | { kind: 'destination'; value: Destination }
  | { kind: 'suppression'; value: Suppression }
  | { kind: 'audience' | 'trait'; value: Computation }

/**
 * What routing needs. `hasUnreadRules`: the record cannot be read and has rules that differ from these, or that no
 * readable version confirms. No event may be sent: the new rules might redact it.
 */
export type Outline = Pick<
  Destination,
  'id' | 'enabled' | 'sourceIds' | 'eventTypes' | 'rules' | 'hashKey'
> & { hasUnreadRules?: true }

export function createIndex() {
  const sources = new Map<string, Source>()
  const destinations = new Map<string, Destination>()
  const outlines = new Map<string, Outline>()
  /** Their previous version is in use, but the rules have changed since. */
  const guarded = new Set<string>()
  const audiences = new Map<string, Computation>()
  const traits = new Map<string, Computation>()
  const suppressed = createSuppressed()
  const byKind = { source: sources, destination: destinations, audience: audiences, trait: traits }
  const { changed, ...lookups } = createDerived({ sources, destinations, outlines, guarded })

  function set(key: string, setting: Setting | undefined): void {
    const { kind, id } = partsOf(key)
    changed(kind)
    if (kind === 'destination') {
      outlines.delete(id)
      guarded.delete(id)
    }
    if (setting) put(id, setting)
    else if (kind === 'suppression') suppressed.set(id, undefined)
    else byKind[kind]?.delete(id)
  }

  function put(id: string, { kind, value }: Setting): void {
    if (kind === 'source') sources.set(id, value)
    else if (kind === 'destination') destinations.set(id, value)
    else if (kind === 'suppression') suppressed.set(id, value)
    else if (kind === 'audience') audiences.set(id, value)
    else traits.set(id, value)
  }

  /** A value in use stays; without one, routing uses the outline. */
  function setUnread(key: string, outline: Outline | undefined): void {
    const { kind, id } = partsOf(key)
    changed(kind)
    if (kind === 'suppression') suppressed.setUnread(id)
    if (kind !== 'destination') return
    const good = destinations.get(id)
    if (good) {
      if (outline?.hasUnreadRules && !isDeepStrictEqual(outline.rules, good.rules)) guarded.add(id)
    } else if (outline) outlines.set(id, outline)
    else outlines.delete(id)
  }

  const hasUnreadRules = (id: string) => guarded.has(id) || outlines.get(id)?.hasUnreadRules === true

  function get(key: string): Setting | undefined {
    const { kind, id } = partsOf(key)
    const value = kind === 'suppression' ? suppressed.suppressions.get(id) : byKind[kind]?.get(id)
    // the compiler cannot see that the map holds values of this kind
    return value && ({ kind, value } as Setting)
  }

  const { suppressions, suppressedUsers } = suppressed
  const stores = { sources, destinations, audiences, traits, suppressions }
  return { ...stores, ...lookups, suppressedUsers, hasUnreadRules, set, setUnread, get }
}

type Stores = {
  sources: ReadonlyMap<string, Source>
  destinations: ReadonlyMap<string, Destination>
  outlines: ReadonlyMap<string, Outline>
  guarded: ReadonlySet<string>
}

/** Rebuilt on first use after a change, so a startup with many settings stays linear. */
function createDerived({ sources, destinations, outlines, guarded }: Stores) {
  let byWriteKey: Map<string, Source> | undefined
  let bySource: Map<string, Outline[]> | undefined

  function sourceByWriteKey(writeKey: string): Source | undefined {
    byWriteKey ??= new Map(
      [...sources.values()].flatMap((source) => writeKeysOf(source).map((key) => [key, source] as const)),
    )
    return byWriteKey.get(writeKey)
  }

  const guard = (destination: Destination): Outline =>
    guarded.has(destination.id) ? { ...destination, hasUnreadRules: true } : destination

  return {
    sourceByWriteKey,
    senderByWriteKey(writeKey: string, now: number): Source | undefined {
      const source = sourceByWriteKey(writeKey)
      return source && isAccepted(writeKey, source, now) ? source : undefined
    },
    changed(kind: Kind): void {
      if (kind === 'source') byWriteKey = undefined
      if (kind === 'destination') bySource = undefined
    },
    destinationsOf(sourceId: string): readonly Outline[] {
      bySource ??= grouped([...[...destinations.values()].map(guard), ...outlines.values()])
      return bySource.get(sourceId) ?? []
    },
  }
}

const writeKeysOf = ({ writeKey, previousWriteKey }: Source) =>
  previousWriteKey === undefined ? [writeKey] : [writeKey, previousWriteKey]

/** @param now ms since 1970. */
const isAccepted = (key: string, { writeKey, previousWriteKeyExpiresAt: until }: Source, now: number) =>
  key === writeKey || (until !== undefined && now < Date.parse(until))

/** @param key `kind/id` */
export function partsOf(key: string): { kind: Kind; id: string } {
  const kind = key.slice(0, key.indexOf('/')) as Kind
  return { kind, id: key.slice(kind.length + 1) }
}

function grouped(destinations: Iterable<Outline>): Map<string, Outline[]> {
  const groups = new Map<string, Outline[]>()
  for (const destination of destinations)
    for (const sourceId of new Set(destination.sourceIds)) {
      const group = groups.get(sourceId)
      if (group) group.push(destination)
      else groups.set(sourceId, [destination])
    }
  return groups
}
