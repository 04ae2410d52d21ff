import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../kafka/client.ts'
import { openTable, type Table } from '../kafka/table.ts'
import { readSetting } from './read-setting.ts'
import type { Keys } from './seal.ts'
import type { Computation, Destination, Kind, Source, Suppression } from './settings.ts'
import { createIndex } from './settings-index.ts'
import { shared } from './shared.ts'
import type { Users } from './suppressed.ts'
import { CONFIG } from './topics.ts'

/** The settings as this process knows them; a write through control is here within a second. */
export type Settings = {
  /** Resolves when all settings that were there at the start have been read; rejects when one of them cannot be. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Whether what is here is at most about a second old. */
  isFresh(): boolean
  sources: ReadonlyMap<string, Source>
  destinations: ReadonlyMap<string, Destination>
  suppressions: ReadonlyMap<string, Suppression>
  audiences: ReadonlyMap<string, Computation>
  traits: ReadonlyMap<string, Computation>
  sourceByWriteKey(writeKey: string): Source | undefined
  /** Destinations connected to a source, switched off ones too. */
  destinationsOf(sourceId: string): readonly Destination[]
  /** The users whose calls are dropped when this source sends them; undefined when there are none. */
  suppressedUsers(sourceId: string): Users | undefined
  /**
   * The destination as it is now. One that seems deleted or switched off is looked up again once this process has read all
   * that was written up to now: it may be newer than what this process has followed so far, and its deliveries are not to be cancelled.
   */
  destination(id: string): Promise<Destination | undefined>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get' | 'supposing'>
  close(): Promise<void>
}

export type FollowOptions = {
  connection: Connection
  keys: Keys
  /** Those that this process goes by: of suppressions there may be very many. Sources and destinations unless told. */
  kinds?: readonly Kind[]
  /** A record that cannot be read, that no key opens, or that has not its shape: going on would take its destination for deleted. */
  onFatal: (error: Error) => void
}

export async function followSettings({
  connection,
  keys,
  kinds = ['source', 'destination'],
  onFatal,
}: FollowOptions): Promise<Settings> {
  const index = createIndex()
  let isLoaded = false
  let isWhole = true

  const apply = (key: string, value: Buffer | undefined) =>
    index.set(key, value && readSetting(key, value, { keys, kinds }))

  function follow(key: string, value: Buffer | undefined): void {
    try {
      apply(key, value)
    } catch (error) {
      isWhole = false
      onFatal(error instanceof Error ? error : new Error(String(error)))
    }
  }

  const table = await openTable({
    connection,
    topic: CONFIG,
    wanted: (key) => kinds.some((kind) => key.startsWith(`${kind}/`)),
    onFatal,
    // which settings were in it nobody knows: they would be taken for deleted
    onSkipped: ({ reason, firstOffset, lastOffset }) => {
      isWhole = false
      onFatal(new Error(`the settings of offsets ${firstOffset} to ${lastOffset} cannot be read: ${reason}`))
    },
    // what has been replaced since may be sealed with a key that is gone: only the last of each key is judged
    onChange: (key, value) => {
      if (isLoaded) follow(key, value)
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
    // until the process ends nothing is decided by settings with a gap
    if (!isWhole) await new Promise<never>(() => undefined)
    return index.destinations.get(id)
  }

  return {
    ...index,
    destination,
    table,
    loaded,
    isLoaded: () => isLoaded,
    isFresh: () => isWhole && table.isFresh(),
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
