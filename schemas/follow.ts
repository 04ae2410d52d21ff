import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../kafka/client.ts'
import { openTable, type Table } from '../kafka/table.ts'
import { type Keys, mapSecrets, unseal } from './seal.ts'
import { type Destination, type Kind, type Source, storedDestination, storedSource } from './settings.ts'
import { CONFIG } from './topics.ts'

/** The settings as this process knows them; a write through control is here within a second. */
export type Settings = {
  /** Resolves when all settings that were there at the start have been read. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Whether what is here is at most about a second old. */
  isFresh(): boolean
  sources: ReadonlyMap<string, Source>
  destinations: ReadonlyMap<string, Destination>
  sourceByWriteKey(writeKey: string): Source | undefined
  /** Destinations connected to a source, switched off ones too. */
  destinationsOf(sourceId: string): readonly Destination[]
  /**
   * The destination as it is now. One that seems deleted or switched off is looked up again once this process has read all
   * that was written up to now: it may be newer than what this process has followed so far, and its deliveries are not to be cancelled.
   */
  destination(id: string): Promise<Destination | undefined>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get'>
  close(): Promise<void>
}

export type FollowOptions = {
  connection: Connection
  keys: Keys
  /** A record that no key opens, or that has not its shape: going on would take its destination for deleted. */
  onFatal: (error: Error) => void
}

export async function followSettings({ connection, keys, onFatal }: FollowOptions): Promise<Settings> {
  const index = createIndex()
  let isLoaded = false

  function apply(key: string, value: Buffer | undefined): void {
    try {
      index.set(key, value && readRecord(key, value, keys))
    } catch (error) {
      onFatal(error instanceof Error ? error : new Error(String(error)))
    }
  }

  const table = await openTable({
    connection,
    topic: CONFIG,
    onFatal,
    // what has been replaced since may be sealed with a key that is gone: only the last of each key is judged
    onChange: (key, value) => {
      if (isLoaded) apply(key, value)
    },
  })
  const loaded = table.loaded.then(() => {
    for (const [key, value] of table.entries()) apply(key, value)
    isLoaded = true
  })
  const caughtUp = shared(() => caughtUpSurely(table))

  async function destination(id: string): Promise<Destination | undefined> {
    const known = index.destinations.get(id)
    if (known?.enabled) return known
    await caughtUp()
    return index.destinations.get(id)
  }

  return {
    ...index,
    destination,
    table,
    loaded,
    isLoaded: () => isLoaded,
    isFresh: table.isFresh,
    close: table.close,
  }
}

/** While Kafka is away nothing can be said of a setting, so nothing is. */
async function caughtUpSurely(table: Table): Promise<void> {
  for (;;) {
    const done = await table.caughtUp().then(
      () => true,
      () => false,
    )
    if (done) return
    await sleep(250)
  }
}

/** @returns `work` for any number of callers: one that calls while it runs gets the next run, which begins after its call. */
function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  function start(): Promise<void> {
    running = work().finally(() => {
      running = undefined
    })
    return running
  }
  return () => {
    if (!running) return start()
    following ??= running.then(() => {
      following = undefined
      return start()
    })
    return following
  }
}

type Setting = { kind: 'source'; value: Source } | { kind: 'destination'; value: Destination }

const shapes = { source: storedSource, destination: storedDestination }

/** @returns undefined for kinds that this process does not know. @throws when the record cannot be opened or read. */
function readRecord(key: string, value: Buffer, keys: Keys): Setting | undefined {
  const kind = key.slice(0, key.indexOf('/'))
  if (kind !== 'source' && kind !== 'destination') return undefined
  const opened = mapSecrets(JSON.parse(value.toString()), (sealed) => {
    const text = unseal(sealed, { keys, owner: key })
    if (text === undefined)
      throw new Error(`CONFIG_KEY does not open the secrets of ${key}: set the key that sealed them, too`)
    return text
  })
  const parsed = shapes[kind].safeParse(opened)
  if (!parsed.success) throw new Error(`setting ${key} has not its shape: ${parsed.error.message}`)
  return { kind, value: parsed.data } as Setting
}

/** Look-ups are made anew at the first use after a change: a start with many settings stays linear. */
function createIndex() {
  const sources = new Map<string, Source>()
  const destinations = new Map<string, Destination>()
  let byWriteKey: Map<string, Source> | undefined
  let bySource: Map<string, Destination[]> | undefined

  function set(key: string, setting: Setting | undefined): void {
    const kind = key.slice(0, key.indexOf('/')) as Kind
    const id = key.slice(kind.length + 1)
    if (kind === 'source') byWriteKey = undefined
    if (kind === 'destination') bySource = undefined
    if (setting?.kind === 'source') sources.set(id, setting.value)
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

  return { set, sources, destinations, sourceByWriteKey, destinationsOf }
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
