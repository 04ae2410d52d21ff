import type { Computation, Destination, Kind, Source, Suppression } from './settings.ts'
import { createSuppressed } from './suppressed.ts'

export type Setting =
  | { kind: 'source'; value: Source }
  | { kind: 'destination'; value: Destination }
  | { kind: 'suppression'; value: Suppression }
  | { kind: 'audience' | 'trait'; value: Computation }

/** Look-ups are made anew at the first use after a change: a start with many settings stays linear. */
export function createIndex() {
  const sources = new Map<string, Source>()
  const destinations = new Map<string, Destination>()
  const audiences = new Map<string, Computation>()
  const traits = new Map<string, Computation>()
  const suppressed = createSuppressed()
  let byWriteKey: Map<string, Source> | undefined
  let bySource: Map<string, Destination[]> | undefined

  function set(key: string, setting: Setting | undefined): void {
    const kind = key.slice(0, key.indexOf('/')) as Kind
    const id = key.slice(kind.length + 1)
    if (kind === 'source') byWriteKey = undefined
    if (kind === 'destination') bySource = undefined
    if (setting) put(id, setting)
    else if (kind === 'suppression') suppressed.set(id, undefined)
    else
      ({ source: sources, destination: destinations, audience: audiences, trait: traits })[kind]?.delete(id)
  }

  function put(id: string, { kind, value }: Setting): void {
    if (kind === 'source') sources.set(id, value)
    else if (kind === 'destination') destinations.set(id, value)
    else if (kind === 'suppression') suppressed.set(id, value)
    else if (kind === 'audience') audiences.set(id, value)
    else traits.set(id, value)
  }

  function sourceByWriteKey(writeKey: string): Source | undefined {
    byWriteKey ??= new Map([...sources.values()].map((source) => [source.writeKey, source]))
    return byWriteKey.get(writeKey)
  }

  function destinationsOf(sourceId: string): readonly Destination[] {
    bySource ??= grouped(destinations.values())
    return bySource.get(sourceId) ?? []
  }

  const { suppressions, suppressedUsers } = suppressed
  return {
    set,
    sources,
    destinations,
    suppressions,
    audiences,
    traits,
    sourceByWriteKey,
    destinationsOf,
    suppressedUsers,
  }
}

function grouped(destinations: Iterable<Destination>): Map<string, Destination[]> {
  const groups = new Map<string, Destination[]>()
  for (const destination of destinations)
    for (const sourceId of new Set(destination.sourceIds)) {
      const group = groups.get(sourceId)
      if (group) group.push(destination)
      else groups.set(sourceId, [destination])
    }
  return groups
}
