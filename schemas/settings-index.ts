import type { Destination, Kind, Source, Suppression } from './settings.ts'
import { createSuppressed } from './suppressed.ts'

export type Setting =
  | { kind: 'source'; value: Source }
  | { kind: 'destination'; value: Destination }
  | { kind: 'suppression'; value: Suppression }

/** Look-ups are made anew at the first use after a change: a start with many settings stays linear. */
export function createIndex() {
  const sources = new Map<string, Source>()
  const destinations = new Map<string, Destination>()
  const suppressed = createSuppressed()
  let byWriteKey: Map<string, Source> | undefined
  let bySource: Map<string, Destination[]> | undefined

  function set(key: string, setting: Setting | undefined): void {
    const kind = key.slice(0, key.indexOf('/')) as Kind
    const id = key.slice(kind.length + 1)
    if (kind === 'source') byWriteKey = undefined
    if (kind === 'destination') bySource = undefined
    if (kind === 'suppression')
      suppressed.set(id, setting?.kind === 'suppression' ? setting.value : undefined)
    else if (setting?.kind === 'source') sources.set(id, setting.value)
    else if (setting?.kind === 'destination') destinations.set(id, setting.value)
    else if (kind === 'source') sources.delete(id)
    else if (kind === 'destination') destinations.delete(id)
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
  return { set, sources, destinations, suppressions, sourceByWriteKey, destinationsOf, suppressedUsers }
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
