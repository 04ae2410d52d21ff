import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge } from 'prom-client'
import type { Connection } from '../kafka/client.ts'
import { openTable, type Table } from '../kafka/tables/table.ts'
import { registry } from '../process/metrics.ts'
import { ConfigError } from '../process/pem.ts'
import { createIndex, type Outline, partsOf, type Setting } from './lookup.ts'
import { readSetting, UNSIGNED, type Unread } from './read.ts'
import { type ConfigKeys, mapSecrets } from './seal.ts'
import {
  CONFIG,
  type Computation,
  type Destination,
  KINDS,
  type Kind,
  type Source,
  type Suppression,
} from './settings.ts'
import type { Users } from './suppression-list.ts'

/**
 * A setting whose record cannot be read. `reason`: why, without secrets and users. `since`: when this process saw it first, in ms since
 * 1970. `isKept`: the process goes by what the setting was before; otherwise it has never read it, and goes without it.
 */
export type Unreadable = { kind: Kind; id: string; reason: string; since: number; isKept: boolean }

/** The settings as this process knows them; a write through control is here within a second. */
export type Settings = {
  /** Resolves when all settings that were there at the start have been read; rejects when CONFIG_KEY opens none of them. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Whether what is here is at most about a second old. */
  isFresh(): boolean
  sources: ReadonlyMap<string, Source>
  destinations: ReadonlyMap<string, Destination>
  suppressions: ReadonlyMap<string, Suppression>
  audiences: ReadonlyMap<string, Computation>
  traits: ReadonlyMap<string, Computation>
  /** By key `kind/id`. A record that can be read, or its removal, takes it out. */
  unreadable: ReadonlyMap<string, Unreadable>
  sourceByWriteKey(writeKey: string): Source | undefined
  /**
   * Destinations connected to a source, switched off ones too. Also those whose secrets cannot be read, as routing goes
   * without them.
   */
  destinationsOf(sourceId: string): readonly Outline[]
  /** The users whose calls are dropped when this source sends them; undefined when there are none. */
  suppressedUsers(sourceId: string): Users | undefined
  /**
   * The destination as it is now. One that seems deleted or switched off is looked up again once this process has read all
   * that was written up to now: it may be newer than what this process has followed so far, and its deliveries are not to be
   * cancelled. `unreadable`: it is there, and nobody here knows what it says.
   */
  destination(id: string): Promise<Destination | 'unreadable' | undefined>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get' | 'entries' | 'supposing'>
  close(): Promise<void>
}

export type FollowOptions = {
  connection: Connection
  keys: ConfigKeys
  /** Those that this process goes by: of suppressions there may be very many. Sources and destinations unless told. */
  kinds?: readonly Kind[]
  /** The topic cannot be followed any more. */
  onFatal: (error: Error) => void
}

/** A record that cannot be read changes nothing but what this process says of it: the last good one stays in force. */
export async function followSettings({
  connection,
  keys,
  kinds = ['source', 'destination'],
  onFatal,
}: FollowOptions): Promise<Settings> {
  const { log } = connection
  const index = createIndex()
  const unreadable = new Map<string, Unreadable>()
  /** What is gone by in place of those that cannot be read; undefined: nothing. */
  const lastGood = new Map<string, Setting | undefined>()
  const unknownKinds = new Set<string>()
  let isLoaded = false
  /** Until the process ends nothing is decided by settings with a gap. */
  let hasGap = false
  let isSupposing = false

  /** @returns why it cannot be read. */
  function apply(key: string, value: Buffer | undefined): Unread | undefined {
    const read = value && readSetting(key, value, { keys, kinds })
    if (read && 'unread' in read) {
      applyLastGood(key, read)
      return read
    }
    index.set(key, read)
    // what is only supposed is taken back
    if (!isSupposing && unreadable.delete(key)) {
      lastGood.delete(key)
      log.info({ setting: key }, 'a setting can be read again, or is removed')
    }
    return undefined
  }

  function applyLastGood(key: string, { reason, outline }: Unread): void {
    const before = unreadable.get(key)
    const good = before ? lastGood.get(key) : index.get(key)
    index.set(key, good)
    index.setUnread(key, outline)
    if (isSupposing) return
    lastGood.set(key, good)
    const isKept = good !== undefined
    unreadable.set(key, { ...partsOf(key), reason, since: before?.since ?? Date.now(), isKept })
    const goingOn = isKept ? 'with what it was before' : 'without it'
    log.error({ setting: key, reason }, `a setting cannot be read: going on ${goingOn}`)
  }

  function isFollowed(key: string): boolean {
    if (kinds.some((kind) => key.startsWith(`${kind}/`))) return true
    const kind = key.split('/', 1)[0] ?? ''
    if (KINDS.some((known) => known === kind) || unknownKinds.has(kind)) return false
    unknownKinds.add(kind)
    log.warn({ kind, setting: key }, 'settings of a kind that this version does not know are ignored')
    return false
  }

  const table = await openTable({
    connection,
    topic: CONFIG,
    wanted: isFollowed,
    onFatal,
    // which settings were in it nobody knows: a process that runs keeps those that it has, one that starts would take them for deleted
    onSkipped: ({ reason, firstOffset, lastOffset }) => {
      const offsets = `${firstOffset} to ${lastOffset}`
      if (isLoaded)
        log.error({ reason, offsets }, 'settings cannot be read: going on with what they were before')
      else {
        hasGap = true
        onFatal(new Error(gapIn(offsets, reason)))
      }
    },
    // what has been replaced since may be sealed with a key that is gone: only the last of each key is judged
    onChange: (key, value) => {
      if (isLoaded) apply(key, value)
    },
  })
  const loaded = table.loaded.then(async () => {
    if (hasGap) await new Promise<never>(() => undefined)
    const sealed = new Map<string, string>()
    for (const [key, value] of table.entries()) {
      const unread = apply(key, value)
      if (unread?.unread === 'sealed') sealed.set(key, unread.reason)
    }
    refuseWrongKey(sealed, index)
    isLoaded = true
  })
  const caughtUp = shared(() => caughtUpSurely(table))

  async function destination(id: string): Promise<Destination | 'unreadable' | undefined> {
    const known = index.destinations.get(id)
    if (known?.enabled) return known
    await caughtUp()
    const found = index.destinations.get(id)
    // its last good one may have been off
    return !found?.enabled && unreadable.has(`destination/${id}`) ? 'unreadable' : found
  }

  /** What is put back afterwards is no news. */
  function supposing<T>(work: Parameters<typeof table.supposing<T>>[0]): T {
    isSupposing = true
    try {
      return table.supposing(work)
    } finally {
      isSupposing = false
    }
  }

  const { set: _, setUnread: __, get: ___, ...facts } = index
  return {
    ...facts,
    unreadable,
    destination,
    table: {
      caughtUp: table.caughtUp,
      reached: table.reached,
      get: table.get,
      entries: table.entries,
      supposing,
    },
    loaded,
    isLoaded: () => isLoaded,
    isFresh: () => !hasGap && table.isFresh(),
    close: table.close,
  }
}

const gapIn = (offsets: string, reason: string) =>
  `the batch of settings in topic ${CONFIG} at offsets ${offsets} is damaged (${reason}): no process can start, as the settings in it would count as deleted. Leave those alone that run, they go on, and see ops/runbook.md#sluicebatchskipped`

/** @throws ConfigError when CONFIG_KEY fits none of the settings: then the key is wrong, not a record. @param sealed their reasons by key. */
function refuseWrongKey(
  sealed: ReadonlyMap<string, string>,
  { sources, destinations }: Pick<Settings, 'sources' | 'destinations'>,
): void {
  const [first] = sealed
  if (!first || [...sources.values(), ...destinations.values()].some(hasSecret)) return
  const [key, reason] = first
  const others = sealed.size === 1 ? '' : ` and ${sealed.size - 1} other settings`
  throw new ConfigError([
    reason === UNSIGNED
      ? `UNSIGNED_SETTINGS: ${key}${others} have no signature. If an earlier version wrote them, set it to accept until control has signed them (ops/README.md#keys)`
      : `CONFIG_KEY: does not fit ${key}${others}: ${reason}. Add the key that they were written with`,
  ])
}

function hasSecret(record: object): boolean {
  let found = false
  mapSecrets(record, (secret) => {
    found = true
    return secret
  })
  return found
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
export function shared(work: () => Promise<void>): () => Promise<void> {
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

/** @param kinds those that this process goes by. */
export function watchUnreadable({ unreadable }: Pick<Settings, 'unreadable'>, kinds: readonly Kind[]): void {
  new Gauge({
    name: 'sluice_unreadable_settings',
    help: 'Settings whose record in topic config this process cannot read, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of kinds) {
        const count = [...unreadable.values()].filter((each) => each.kind === kind).length
        this.set({ kind }, count)
      }
    },
  })
}
