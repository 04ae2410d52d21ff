import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge } from 'prom-client'
import type { Connection } from '../kafka/client.ts'
import { openTable, type Table } from '../kafka/tables/table.ts'
import { ConfigError } from '../process/config-error.ts'
import { registry } from '../process/metrics.ts'
import type { Outline } from './lookup.ts'
import { UNSIGNED } from './read.ts'
import { type ConfigKeys, secretFields } from './seal.ts'
import {
  CONFIG,
  type Computation,
  type Destination,
  type Kind,
  type Source,
  type Suppression,
} from './settings.ts'
import { createState, type Index, kindFilter, type Unreadable } from './state.ts'
import type { Users } from './suppression-list.ts'

/** At most a second behind control's writes. */
export type Settings = {
  /** Rejects if CONFIG_KEY opens none of the settings. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** At most two seconds old. */
  isFresh(): boolean
  sources: ReadonlyMap<string, Source>
  destinations: ReadonlyMap<string, Destination>
  suppressions: ReadonlyMap<string, Suppression>
  audiences: ReadonlyMap<string, Computation>
  traits: ReadonlyMap<string, Computation>
  /** By key `kind/id`. A readable record or a removal ends it. */
  unreadable: ReadonlyMap<string, Unreadable>
  countUnreadable(kind: Kind): number
  /** The last version of a removed setting, while `config` or this process remembers it. @param key `kind/id` */
  lastVersion(key: string): number | undefined
  /** Also by its previous write key, even an expired one. */
  sourceByWriteKey(writeKey: string): Source | undefined
  /** Ignores an expired write key. @param now ms since 1970. */
  senderByWriteKey(writeKey: string, now: number): Source | undefined
  /** Includes disabled destinations and those with unreadable secrets: routing needs no secrets. */
  destinationsOf(sourceId: string): readonly Outline[]
  hasUnreadRules(destinationId: string): boolean
  /** Users whose calls from this source are dropped. */
  suppressedUsers(sourceId: string): Users | undefined
  /**
   * If it seems removed or disabled, waits until this process has read everything written up to now: a stale view
   * must not cancel deliveries.
   */
  destination(id: string): Promise<Destination | 'unreadable' | undefined>
  table: Pick<Table, 'caughtUp' | 'reached' | 'get' | 'entries' | 'onRead' | 'supposing'>
  close(): Promise<void>
}

export type FollowOptions = {
  connection: Connection
  keys: ConfigKeys
  /** Default: sources and destinations. There may be very many suppressions. */
  kinds?: readonly Kind[]
  onFatal: (error: Error) => void
}

export async function followSettings(options: FollowOptions): Promise<Settings> {
  const { connection, keys, kinds = ['source', 'destination'], onFatal } = options
  const { log } = connection
  const { index, unreadable, countUnreadable, apply, removed, lastVersion, supposing } = createState({
    keys,
    kinds,
    log,
  })
  let isLoaded = false
  /** A gap at startup: decide nothing until the process ends. */
  let hasGap = false

  const table = await openTable({
    connection,
    topic: CONFIG,
    matches: kindFilter(kinds, log),
    onFatal,
    // the batch could hold any setting: a running process keeps its settings, but a starting one would miss them
    onSkipped({ reason, firstOffset, lastOffset }) {
      const offsets = `${firstOffset} to ${lastOffset}`
      if (isLoaded)
        return log.error({ reason, offsets }, 'settings cannot be read: their previous versions stay in use')
      hasGap = true
      onFatal(new Error(gapIn(offsets, reason)))
    },
    // an older value may be sealed with a key that is gone: only the latest counts
    onChange: (key, value) => {
      if (isLoaded) apply(key, value)
    },
    onRemoved: removed,
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
  const { set: _, setUnread: __, get: ___, ...facts } = index
  return {
    ...facts,
    unreadable,
    countUnreadable,
    lastVersion,
    destination: destinationReader({ index, unreadable, caughtUp: shared(() => caughtUpSurely(table)) }),
    table: { ...table, supposing: (work) => supposing(() => table.supposing(work)) },
    loaded,
    isLoaded: () => isLoaded,
    isFresh: () => !hasGap && table.isFresh(),
    close: table.close,
  }
}

type Reading = Pick<Settings, 'unreadable'> & { index: Index; caughtUp: () => Promise<void> }

function destinationReader({ index, unreadable, caughtUp }: Reading): Settings['destination'] {
  return async (id) => {
    const known = index.destinations.get(id)
    if (known?.enabled) return known
    await caughtUp()
    const found = index.destinations.get(id)
    // its last good version may be disabled
    return !found?.enabled && unreadable.has(`destination/${id}`) ? 'unreadable' : found
  }
}

const gapIn = (offsets: string, reason: string) =>
  `the batch of settings in topic ${CONFIG} at offsets ${offsets} is damaged (${reason}): no process can start, because the settings in it would count as removed. Running processes carry on, so do not restart them; see ops/runbook.md#sluicebatchskipped`

/**
 * @throws ConfigError if CONFIG_KEY fits no setting: then the key is wrong, not a record.
 * @param sealed reasons by key.
 */
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
      : `CONFIG_KEY: does not fit ${key}${others}: ${reason}. Add the key they were written with`,
  ])
}

const hasSecret = (record: object) => secretFields(record).length > 0

/** Until Kafka is reachable, the state of a setting is unknown. */
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

/** A call during a run waits for the next run. */
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

export function watchUnreadable(
  { countUnreadable }: Pick<Settings, 'countUnreadable'>,
  kinds: readonly Kind[],
): void {
  new Gauge({
    name: 'sluice_unreadable_settings',
    help: 'Settings whose record in topic config this process cannot read, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of kinds) this.set({ kind }, countUnreadable(kind))
    },
  })
}
